#include "app/partial_file.h"

#include <cerrno>
#include <utility>

namespace motley::app {

StatusOr<std::unique_ptr<PartialFile>> PartialFile::create(const std::string& path) {
  std::FILE* file = std::fopen((path + ".partial").c_str(), "wb");
  if (file == nullptr) return absl::ErrnoToStatus(errno, path + ": cannot write");
  return std::unique_ptr<PartialFile>(new PartialFile(path, file));
}

PartialFile::~PartialFile() {
  if (file_ == nullptr) return;
  std::fclose(file_);
  std::remove(partial_path_.c_str());
}

Status PartialFile::failure(const char* what) const {
  return absl::ErrnoToStatus(errno, fmt::format("{}: {}", path_, what));
}

Status PartialFile::write(std::string_view bytes) {
  if (std::fwrite(bytes.data(), 1, bytes.size(), file_) != bytes.size()) return failure("cannot write");
  return absl::OkStatus();
}

Status PartialFile::finish() {
  std::FILE* file = std::exchange(file_, nullptr);
  if (std::fclose(file) == 0 && std::rename(partial_path_.c_str(), path_.c_str()) == 0) return absl::OkStatus();
  Status status = failure("cannot finish");
  std::remove(partial_path_.c_str());
  return status;
}

Status write_file(const std::string& path, std::string_view bytes) {
  TRY(const auto file, PartialFile::create(path));
  TRY(file->write(bytes));
  return file->finish();
}

}  // namespace motley::app
