// Reads the float32 matrices [T, V] that reference programs wrote with NumPy. For tests only.
#pragma once

#include <string>
#include <vector>

namespace motley::testing {

struct Matrix {
  size_t rows = 0, cols = 0;
  std::vector<float> values;
  const float* row(size_t index) const { return &values[index * cols]; }
};

// Fails the running test when the file is not what it should be.
Matrix read_npy(const std::string& path);

}  // namespace motley::testing
