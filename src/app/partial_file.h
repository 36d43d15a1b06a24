// A file whose name appears only when it is complete: it is written beside that name and renamed.
#pragma once

#include <cstdio>
#include <memory>
#include <string>
#include <string_view>

#include "base/status.h"

namespace motley::app {

// Threads: one. A file that is destroyed before finish() leaves nothing behind.
class PartialFile {
 public:
  // Errors name `path` and say what the system said.
  static StatusOr<std::unique_ptr<PartialFile>> create(const std::string& path);
  ~PartialFile();
  PartialFile(const PartialFile&) = delete;
  PartialFile& operator=(const PartialFile&) = delete;

  Status write(std::string_view bytes);
  // No write after this.
  Status finish();

 private:
  PartialFile(const std::string& path, std::FILE* file) : path_(path), partial_path_(path + ".partial"), file_(file) {}
  Status failure(const char* what) const;

  std::string path_;
  std::string partial_path_;
  std::FILE* file_;
};

// All of a file at once.
Status write_file(const std::string& path, std::string_view bytes);

}  // namespace motley::app
