// The plug of a storage format: one Codec a row of tensor/storage_formats.def, one .cc file a format. Only quant
// includes this; everyone else calls stored_matrix.h.
#pragma once

#include "quant/stored_matrix.h"

namespace motley::quant {

struct Codec {
  // Everything of row_bytes(); cols > 0 has been checked. Null where rows do not lie apart: then part_bytes is there.
  StatusOr<RowBytes> (*row_bytes)(const StorageFormat& format, uint64_t cols, std::string_view where);
  void (*decode_row)(const StoredMatrix& matrix, uint64_t row, uint64_t first, std::span<float> out);
  // Null for formats without integer codes.
  void (*decode_codes)(const StoredMatrix& matrix, uint64_t row, std::span<uint8_t> out);
  // Appends one row's bytes to each part of `out`. Null for formats that motley only reads.
  void (*encode_row)(const StorageFormat& format, std::span<const float> values, EncodedMatrix& out);
  // Null for formats that are never integers.
  IntegerForm (*integer_form)(const StorageFormat& format, uint64_t cols) = nullptr;
  void (*decode_integers)(const StoredMatrix& matrix, uint64_t row, uint64_t first, std::span<int16_t> integers,
                          std::span<float> scales, std::span<float> biases) = nullptr;
  StatusOr<PartBytes> (*part_bytes)(const StorageFormat& format, uint64_t rows, uint64_t cols,
                                    std::string_view where) = nullptr;
};

#define MOTLEY_STORAGE_FORMAT(kind, text) extern const Codec codec_##kind;
#include "tensor/storage_formats.def"
#undef MOTLEY_STORAGE_FORMAT

// Shared by formats whose row is a run of equal blocks: cols must be a multiple of `block_cols`, codes = cols /
// block_cols * block_bytes with a checked product.
StatusOr<RowBytes> block_row_bytes(uint64_t cols, uint64_t block_cols, uint64_t block_bytes, std::string_view where);

// The bytes of `row` in a part whose rows have `row_bytes` bytes.
inline const std::byte* row_start(std::span<const std::byte> part, uint64_t row, uint64_t row_bytes) {
  return part.data() + row * row_bytes;
}

inline void append_byte(std::vector<std::byte>& out, uint8_t value) { out.push_back(std::byte{value}); }
void append_f16(std::vector<std::byte>& out, float value);
// F32, F16 or BF16.
void append_float(std::vector<std::byte>& out, tensor::DType dtype, float value);

inline float load_f16(const std::byte* at) { return tensor::load_float(tensor::DType::kF16, at, 0); }

}  // namespace motley::quant
