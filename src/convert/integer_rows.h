// Rows of integers with a scale, a zero point and a bias for each group of inputs: what every affine packing can be
// read as, so that one can be written as another without rounding. Not for formats of floats or tables.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "quant/stored_matrix.h"

namespace motley::convert {

// w[k] = scales[g] * (codes[k] - zeros[g]) + biases[g], g = k / group_size.
struct IntegerRow {
  std::vector<uint8_t> codes;
  std::vector<float> scales, biases;
  std::vector<int> zeros;
};

struct IntegerGrid {
  uint32_t bits = 0, group_size = 0;
};

// Reads row `row` of `source` as codes of grid.bits bits in groups of grid.group_size. False when the source is no
// integers, when a group of the grid holds several of its groups, or when its integers need more bits. A bias that is a
// whole number of steps becomes part of the zero point.
bool read_integers(const quant::StoredMatrix& source, uint64_t row, IntegerGrid grid, IntegerRow& out);

// The grid in which the source holds its numbers: its own bits and groups. Zeros when it is no integers.
IntegerGrid own_grid(const tensor::StorageFormat& format, uint64_t cols);

// Rounds a row to the nearest code: symmetric about a zero point of half the range.
IntegerRow round_to_integers(std::span<const float> values, IntegerGrid grid);

// --- Writers: rows as a matrix of the format, which is one of those that the functions below make.

tensor::StorageFormat mlx_format(IntegerGrid grid, tensor::DType scale_dtype);
tensor::StorageFormat gptq_format(uint32_t group_size, tensor::DType scale_dtype);
tensor::StorageFormat llama2c_int8_format(uint32_t group_size);

// InvalidArgument ("convert.zero_point") when a zero point or bias has no place in the format. `cols` are the inputs.
StatusOr<quant::EncodedMatrix> write_integers(const tensor::StorageFormat& format, uint64_t cols,
                                              std::span<const IntegerRow> rows);

// The number that the format makes of code `k` of a row: what write_integers() gives when it is decoded, before its
// scales are rounded.
float value_in(const tensor::StorageFormat& format, const IntegerRow& row, IntegerGrid grid, size_t k);

// Scales and biases as the format stores them, in f32: for choosing the dtype that holds them.
float stored_bias(const IntegerRow& row, size_t group);

}  // namespace motley::convert
