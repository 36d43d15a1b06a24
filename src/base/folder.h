// What lies at a path of the file system. Names only; bytes come from open_file().
#pragma once

#include <string>
#include <vector>

#include "base/status.h"

namespace motley {

enum class PathKind { kFile, kFolder };

// NotFound when nothing is there; InvalidArgument for devices, sockets and the like. Symbolic links are followed.
StatusOr<PathKind> path_kind(const std::string& path);

// Names (not paths) of the regular files in `folder`, links to files included, sorted.
StatusOr<std::vector<std::string>> list_files(const std::string& folder);

// "a/b/c.bin" is {"a/b", "c.bin"}; "c.bin" is {".", "c.bin"}.
struct SplitPath {
  std::string folder;
  std::string name;
};
SplitPath split_path(const std::string& path);

}  // namespace motley
