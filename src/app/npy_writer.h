// A NumPy .npy file (format 1.0) of float32 [rows, columns], written row by row, so that it may be larger than memory.
// Its name appears only when it is complete.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "app/partial_file.h"
#include "base/status.h"

namespace motley::app {

// Threads: one. A writer that is destroyed before finish() removes what it wrote.
class NpyWriter {
 public:
  struct Shape {
    uint64_t rows = 0, columns = 0;
  };
  // Writes beside `path` until finish().
  static StatusOr<std::unique_ptr<NpyWriter>> create(const std::string& path, Shape shape);

  // The next values in row-major order.
  Status append(std::span<const float> values);
  // All values must be there.
  Status finish();

 private:
  NpyWriter(std::string path, Shape shape, std::unique_ptr<PartialFile> file);

  std::string path_;
  uint64_t missing_values_;
  std::unique_ptr<PartialFile> file_;
};

}  // namespace motley::app
