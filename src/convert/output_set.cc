#include "convert/output_set.h"

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <utility>

namespace motley::convert {
namespace {

namespace fs = std::filesystem;

Status code_status(const std::error_code& code, const std::string& path, const char* what) {
  return absl::ErrnoToStatus(code.value(), fmt::format("{}: cannot {}", path, what));
}

// A name of its own, so that two conversions to one target do not write into each other.
std::string beside(const std::string& path, std::string_view what) {
  std::string trimmed = path;
  while (trimmed.size() > 1 && trimmed.ends_with('/')) trimmed.pop_back();
  const auto now = std::chrono::steady_clock::now().time_since_epoch().count();
  return fmt::format("{}.{}-{:x}", trimmed, what, static_cast<uint64_t>(now));
}

}  // namespace

Status check_free(const std::string& path, Existing existing) {
  std::error_code code;
  const bool there = fs::exists(fs::symlink_status(path, code));
  REJECT_IF(there && existing == Existing::kRefuse, "convert.exists", path, "nothing there (--overwrite replaces it)",
            fs::is_directory(path, code) ? "a folder" : "a file");
  return absl::OkStatus();
}

OutputSet::OutputSet(std::string path, TargetShape shape)
    : path_(std::move(path)), partial_path_(beside(path_, "partial")), shape_(shape) {}

StatusOr<std::unique_ptr<OutputSet>> OutputSet::create(const std::string& path, const Plan& plan, Existing existing) {
  TRY(check_free(path, existing));
  std::unique_ptr<OutputSet> set(new OutputSet(path, plan.shape));
  std::error_code code;
  if (plan.shape == TargetShape::kFolder && !fs::create_directory(set->partial_path_, code))
    return code_status(code, path, "make this folder");
  for (const PlannedFile& file : plan.files) TRY(set->open(file));
  return set;
}

Status OutputSet::open(const PlannedFile& file) {
  const bool folder = shape_ == TargetShape::kFolder;
  const std::string path = folder ? fmt::format("{}/{}", partial_path_, file.name) : partial_path_;
  std::FILE* handle = std::fopen(path.c_str(), "wb");
  const std::string name = folder ? fmt::format("{}/{}", path_, file.name) : path_;
  if (handle == nullptr) return absl::ErrnoToStatus(errno, name + ": cannot write");
  files_.push_back({.name = name, .file = handle});
  for (const FixedBytes& fixed : file.fixed)
    TRY(write({.file = static_cast<uint32_t>(files_.size() - 1), .offset = fixed.offset},
              std::as_bytes(std::span(fixed.bytes))));
  return absl::OkStatus();
}

Status OutputSet::write(Place place, std::span<const std::byte> bytes) {
  const File& file = files_[place.file];
  const bool written = std::fseek(file.file, static_cast<long>(place.offset), SEEK_SET) == 0 &&
                       std::fwrite(bytes.data(), 1, bytes.size(), file.file) == bytes.size();
  if (!written) return absl::ErrnoToStatus(errno, file.name + ": cannot write");
  return absl::OkStatus();
}

Status OutputSet::close_all() {
  Status status;
  for (File& file : files_) {
    std::FILE* handle = std::exchange(file.file, nullptr);
    if (handle != nullptr && std::fclose(handle) != 0 && status.ok())
      status = absl::ErrnoToStatus(errno, file.name + ": cannot write");
  }
  return status;
}

// What was there keeps its name until the new one is complete; of a folder, which cannot be replaced in one step, it
// moves aside for the moment between two renames.
Status OutputSet::move_into_place() {
  std::error_code code;
  const bool there = fs::exists(fs::symlink_status(path_, code));
  const bool aside = there && (shape_ == TargetShape::kFolder || fs::is_directory(path_, code));
  const std::string old = beside(path_, "old");
  if (aside) fs::rename(path_, old, code);
  if (aside && code) return code_status(code, path_, "move aside");
  fs::rename(partial_path_, path_, code);
  if (code) {
    Status status = code_status(code, path_, "finish");
    if (aside) fs::rename(old, path_, code);
    return status;
  }
  finished_ = true;
  if (aside) fs::remove_all(old, code);
  return absl::OkStatus();
}

Status OutputSet::finish() {
  TRY(close_all());
  return move_into_place();
}

OutputSet::~OutputSet() {
  (void)close_all();
  std::error_code code;
  if (!finished_) fs::remove_all(partial_path_, code);
}

}  // namespace motley::convert
