#include <algorithm>
#include <filesystem>

#include "base/folder.h"

namespace motley {
namespace {

namespace fs = std::filesystem;

Status code_status(const std::string& path, const std::error_code& code) {
  return absl::ErrnoToStatus(code.value(), fmt::format("{}: cannot read", path));
}

}  // namespace

StatusOr<PathKind> path_kind(const std::string& path) {
  std::error_code code;
  const fs::file_status facts = fs::status(path, code);
  if (facts.type() == fs::file_type::not_found)
    return absl::NotFoundError(fmt::format("{}: expected a file or folder, got nothing there", path));
  if (code) return code_status(path, code);
  if (facts.type() == fs::file_type::regular) return PathKind::kFile;
  if (facts.type() == fs::file_type::directory) return PathKind::kFolder;
  return absl::InvalidArgumentError(fmt::format("{}: expected a file or folder, got something else", path));
}

StatusOr<std::vector<std::string>> list_files(const std::string& folder) {
  std::error_code code;
  fs::directory_iterator entries(folder, code);
  if (code) return code_status(folder, code);
  std::vector<std::string> names;
  for (const fs::directory_iterator end; entries != end; entries.increment(code)) {
    std::error_code ignored;  // a dangling link is no regular file
    if (entries->is_regular_file(ignored)) names.push_back(entries->path().filename().string());
  }
  if (code) return code_status(folder, code);
  std::sort(names.begin(), names.end());
  return names;
}

SplitPath split_path(const std::string& path) {
  const fs::path parsed(path);
  const std::string folder = parsed.parent_path().string();
  return {folder.empty() ? "." : folder, parsed.filename().string()};
}

}  // namespace motley
