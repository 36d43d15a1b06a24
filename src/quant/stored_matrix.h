// One weight matrix as its checkpoint stores it, with the geometry and the scalar reference decoder and encoder of
// every storage format. This is the judge of every faster path; it is not itself fast.
//
// A format has up to three parts, each row-major over the N output rows:
//   codes   everything for formats of one piece (floats, GGUF blocks), the packed integers of MLX affine
//   scales  MLX affine: [N, K/group]
//   biases  MLX affine: [N, K/group], same dtype as the scales
// Layouts: docs/formats.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/status.h"
#include "tensor/storage_format.h"

namespace motley::quant {

using tensor::StorageFormat;

// Bytes of one row of each part; zero where the format has no such part.
struct RowBytes {
  uint64_t codes = 0;
  uint64_t scales = 0;
  uint64_t biases = 0;
  uint64_t total() const { return codes + scales + biases; }
};

// The exact bytes of a row of `cols` inputs. Rejects a K that the format cannot hold ("quant.empty_row";
// "quant.row_geometry": no multiple of the block or group), a bit width, group size or scale dtype that does not exist
// ("quant.bits", "quant.group_size", "quant.scale_dtype") and bytes that do not fit 63 bits ("quant.row_bytes").
// `where` names the tensor.
StatusOr<RowBytes> row_bytes(const StorageFormat& format, uint64_t cols, std::string_view where);

// Views into memory that outlives this: the map of a file, or a buffer. Unaligned.
struct StoredMatrix {
  StorageFormat format;
  uint64_t rows = 0;  // N
  uint64_t cols = 0;  // K
  std::span<const std::byte> codes;
  std::span<const std::byte> scales;
  std::span<const std::byte> biases;
};

// Inputs [first, first + out.size()) of row `row` as f32: out[k] = W[row, first + k]. Both ends lie on borders of
// blocks or groups (or at the end of the row). The matrix has been validated by row_bytes().
void decode_row(const StoredMatrix& matrix, uint64_t row, uint64_t first, std::span<float> out);

// Whether the format stores integers with scales, so that decode_codes() may be called.
bool has_codes(const StorageFormat& format);

// The integer codes of a row of an integer format before scale and offset (unsigned; Q8_0 as q + 128, Q6_K as q + 32).
void decode_codes(const StoredMatrix& matrix, uint64_t row, std::span<uint8_t> out);

// Owned bytes of a matrix, as an encoder makes them.
struct EncodedMatrix {
  StorageFormat format;
  uint64_t rows = 0, cols = 0;
  std::vector<std::byte> codes, scales, biases;
  StoredMatrix view() const { return {format, rows, cols, codes, scales, biases}; }
};

// Rounds f32 [rows, cols] into `format` by the published rule of each format (docs/formats.md). Same errors as
// row_bytes(); also rejects a format that motley only reads ("quant.read_only").
StatusOr<EncodedMatrix> encode(const StorageFormat& format, uint64_t rows, uint64_t cols,
                               std::span<const float> values);

}  // namespace motley::quant
