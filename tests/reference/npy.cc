#include "npy.h"

#include <cstdint>
#include <cstdio>
#include <fstream>

#include "gtest/gtest.h"

namespace motley::testing {

Matrix read_npy(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file.good()) << path;
  char magic[8] = {};
  uint16_t header_bytes = 0;
  file.read(magic, sizeof magic).read(reinterpret_cast<char*>(&header_bytes), sizeof header_bytes);
  std::string header(header_bytes, ' ');
  file.read(header.data(), header_bytes);
  EXPECT_NE(header.find("'<f4'"), std::string::npos) << path << header;
  EXPECT_NE(header.find("'fortran_order': False"), std::string::npos) << path << header;
  Matrix matrix;
  const size_t shape = header.find("'shape': (");
  EXPECT_EQ(std::sscanf(header.c_str() + shape, "'shape': (%zu, %zu)", &matrix.rows, &matrix.cols), 2)
      << path << header;
  matrix.values.resize(matrix.rows * matrix.cols);
  file.read(reinterpret_cast<char*>(matrix.values.data()),
            static_cast<std::streamsize>(matrix.values.size() * sizeof(float)));
  EXPECT_TRUE(file.good()) << path << ": too short";
  return matrix;
}

}  // namespace motley::testing
