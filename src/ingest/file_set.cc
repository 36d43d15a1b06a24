#include "ingest/file_set.h"

#include "base/folder.h"

namespace motley::ingest {
namespace {

class LocalFolder final : public FileSet {
 public:
  explicit LocalFolder(std::string path) : path_(std::move(path)) {}
  const std::string& name() const override { return path_; }
  StatusOr<std::vector<std::string>> names() const override { return list_files(path_); }
  StatusOr<std::shared_ptr<const ByteSource>> open(std::string_view file) const override {
    return open_file(path_ == "." ? std::string(file) : fmt::format("{}/{}", path_, file));
  }

 private:
  std::string path_;
};

class MemoryFiles final : public FileSet {
 public:
  MemoryFiles(std::string name, std::map<std::string, std::vector<std::byte>, std::less<>>&& files)
      : name_(std::move(name)) {
    for (auto& [file, bytes] : files)
      sources_[file] = memory_source(fmt::format("{}/{}", name_, file), std::move(bytes));
  }
  const std::string& name() const override { return name_; }
  StatusOr<std::vector<std::string>> names() const override {
    std::vector<std::string> result;
    result.reserve(sources_.size());
    for (const auto& [file, source] : sources_) result.push_back(file);
    return result;
  }
  StatusOr<std::shared_ptr<const ByteSource>> open(std::string_view file) const override {
    const auto found = sources_.find(file);
    if (found == sources_.end()) return absl::NotFoundError(fmt::format("{}/{}: no such file", name_, file));
    return found->second;
  }

 private:
  std::string name_;
  std::map<std::string, std::shared_ptr<const ByteSource>, std::less<>> sources_;
};

}  // namespace

std::unique_ptr<FileSet> local_folder(std::string path) { return std::make_unique<LocalFolder>(std::move(path)); }

std::unique_ptr<FileSet> memory_files(std::string name,
                                      std::map<std::string, std::vector<std::byte>, std::less<>> files) {
  return std::make_unique<MemoryFiles>(std::move(name), std::move(files));
}

StatusOr<std::optional<std::string>> read_text_if_present(const FileSet& files, std::string_view file,
                                                          uint64_t budget_bytes) {
  const auto source = files.open(file);
  if (absl::IsNotFound(source.status())) return std::nullopt;
  TRY(source.status());
  const uint64_t size_bytes = (*source)->size_bytes();
  REJECT_IF(size_bytes > budget_bytes, "files.too_big", (*source)->name(),
            fmt::format("at most {} bytes", budget_bytes), size_bytes);
  std::string text(std::min(size_bytes, budget_bytes), '\0');
  TRY((*source)->read(0, std::as_writable_bytes(std::span(text))));
  return text;
}

StatusOr<std::optional<Json>> read_json_if_present(const FileSet& files, std::string_view file, uint64_t budget_bytes) {
  TRY(const auto text, read_text_if_present(files, file, budget_bytes));
  if (!text) return std::nullopt;
  TRY(Json json, parse_json(*text, fmt::format("{}/{}", files.name(), file)));
  REJECT_IF(json.as_object() == nullptr, "files.object", fmt::format("{}/{}", files.name(), file), "a JSON object",
            json.kind_name());
  return json;
}

}  // namespace motley::ingest
