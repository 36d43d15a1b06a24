// Random matrices and activations for the tests and the benchmark of kernels. Linked into those only.
#pragma once

#include <memory>
#include <random>
#include <string>
#include <vector>

#include "kernels/table.h"

namespace motley::kernels::testing {

using Random = std::mt19937_64;

// Every storage format with every bit width, group size and scale dtype that exists.
std::vector<quant::StorageFormat> all_formats();

// The smallest K of a format.
uint64_t smallest_cols(const quant::StorageFormat& format);

// Random codes; scales of both signs, some of them zero or f16-subnormal, and biases to match, so that weights lie
// within about 1.
quant::EncodedMatrix random_matrix(const quant::StorageFormat& format, uint64_t rows, uint64_t cols, Random& random);

// Normally distributed, with a few outliers, exact zeros and (every fifth group of 32) silence.
std::vector<float> random_activations(size_t count, Random& random);

// 64-byte aligned memory for panels.
class Panels {
 public:
  explicit Panels(const quant::StoredMatrix& stored);
  const PanelMatrix& matrix() const { return matrix_; }

 private:
  struct Free {
    void operator()(std::byte* bytes) const;
  };
  std::unique_ptr<std::byte[], Free> bytes_;
  quant::EncodedMatrix own_;  // of a stored matrix
  PanelMatrix matrix_;
};

// Activations [tokens, cols] with everything that the matmul slots want beside them. Quantised by `table`.
class Activations {
 public:
  Activations(const KernelTable& table, const PanelFormat& format, uint64_t cols, uint32_t tokens,
              std::vector<float> values);
  FloatRows floats() const;
  QuantizedRows quantized() const;
  const std::vector<float>& values() const { return values_; }

 private:
  static constexpr size_t kStrideGap = 16;  // between rows of codes: no kernel may rely on there being none
  uint64_t cols_, stride_ = 0;
  uint32_t tokens_, group_;
  std::vector<float> values_, sums_f32_, scales_;
  std::vector<int16_t> codes_;
  std::vector<int32_t> sums_, half_sums_;
};

}  // namespace motley::kernels::testing
