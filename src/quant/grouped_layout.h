// Where things lie in a grouped matrix (tensor/storage_format.h): the first bit of a code, the index of a scale, the
// bits of a zero point, and how long each part is. Only codec_grouped.cc includes this.
#pragma once

#include <limits>

#include "quant/block_codec.h"

namespace motley::quant {

inline constexpr uint64_t kWordBits = 32;

// The sizes that positions are computed from, taken out of a format once.
struct GroupedShape {
  const StorageFormat& format;
  uint64_t rows, cols;

  uint64_t bits() const { return format.bits; }
  uint64_t group_cols() const { return format.group_size == 0 ? cols : format.group_size; }
  uint64_t group_rows() const { return format.grouping.group_rows == 0 ? rows : format.grouping.group_rows; }
  // Groups of one row, and of the matrix; scales of a row where the file pads them.
  uint64_t groups() const { return (cols + group_cols() - 1) / group_cols(); }
  uint64_t row_groups() const { return (rows + group_rows() - 1) / group_rows(); }
  uint64_t stored_groups() const {
    return format.grouping.padded_groups == 0 ? groups() : format.grouping.padded_groups;
  }
  // kSlices*: codes that share a byte (HQQ's 3-bit codes: ten in a word), and rows of groups of one slice.
  bool thirds() const { return bits() == 3; }
  uint64_t slices() const { return thirds() ? 10 : 8 / bits(); }
  uint64_t slice_unit_bits() const { return thirds() ? kWordBits : 8; }
  uint64_t slice_rows() const { return (rows * groups() + slices() - 1) / slices(); }
};

// Nibble of output n in its word of 8 (AutoAWQ packs 0, 2, 4, 6, 1, 3, 5, 7).
inline uint64_t awq_nibble(uint64_t n) { return (n >> 1 & 3) + 4 * (n & 1); }

template <tensor::CodeOrder kOrder>
uint64_t first_bit(const GroupedShape& shape, uint64_t n, uint64_t k) {
  using enum tensor::CodeOrder;
  const uint64_t bits = shape.bits();
  if constexpr (kOrder == kRows) return n * ((shape.cols * bits + 7) / 8 * 8) + k * bits;
  if constexpr (kOrder == kWordRows)
    return n * ((shape.cols * bits + kWordBits - 1) / kWordBits * kWordBits) + k * bits;
  if constexpr (kOrder == kWholeCodesRows) {
    const uint64_t per_word = kWordBits / bits, words = (shape.cols + per_word - 1) / per_word;
    return (n * words + k / per_word) * kWordBits + k % per_word * bits;
  }
  if constexpr (kOrder == kFlatHighFirst) return 4 * ((n * shape.cols + k) ^ 1);
  if constexpr (kOrder == kColumns) {
    const uint64_t bit = k * bits;
    return (bit / kWordBits * shape.rows + n) * kWordBits + bit % kWordBits;
  }
  if constexpr (kOrder == kAwqGemm) return (k * (shape.rows / 8) + n / 8) * kWordBits + 4 * awq_nibble(n);
  if constexpr (kOrder == kAwqGemvFast) {
    const uint64_t word = k / 64 * 64 + 16 * (n % 4) + 8 * (k % 64 / 32) + k % 8;
    return (n / 4 * shape.cols + word) * 16 + 4 * (k % 32 / 8);
  }
  if constexpr (kOrder == kSlicesHighFirst || kOrder == kSlicesLowFirst) {
    const uint64_t group_cols = shape.group_cols(), row = n * shape.groups() + k / group_cols;
    const uint64_t slice = row / shape.slice_rows();
    const uint64_t at = (row % shape.slice_rows() * group_cols + k % group_cols) * shape.slice_unit_bits();
    return at + bits * (kOrder == kSlicesLowFirst ? slice : shape.slices() - 1 - slice);
  }
  if constexpr (kOrder == kRowPairs) return (n / 2 * shape.cols + k) * 8 + 4 * (n % 2);
}

// Up to 8 bits from `bit` on, in bytes that follow each other.
inline uint32_t bits_at(const std::byte* bytes, uint64_t bit, uint64_t bits) {
  const std::byte* at = bytes + bit / 8;
  uint32_t window = byte_at(at, 0);
  if (bit % 8 + bits > 8) window |= byte_at(at, 1) << 8;
  return window >> (bit % 8) & ((1u << bits) - 1);
}

// Up to 8 bits of a stream whose words are `stride` words apart.
inline uint32_t strided_bits_at(const std::byte* bytes, uint64_t bit, uint64_t bits, uint64_t stride) {
  const uint64_t here = kWordBits - bit % kWordBits;
  if (bits <= here) return bits_at(bytes, bit, bits);
  const uint32_t low = bits_at(bytes, bit, here);
  return low | bits_at(bytes, (bit / kWordBits + stride) * kWordBits, bits - here) << here;
}

// Index of the scale of group (n / group_rows, g); g counts groups of the row.
inline uint64_t scale_index(const GroupedShape& shape, uint64_t n, uint64_t g) {
  if (shape.format.grouping.grid == tensor::GridOrder::kColumnMajor)
    return g * shape.row_groups() + n / shape.group_rows();
  return n / shape.group_rows() * shape.stored_groups() + g;
}

// The zero point of group g of row n, of unsigned codes.
uint32_t packed_zero_point(const GroupedShape& shape, const std::byte* offsets, uint64_t n, uint64_t g);

StatusOr<PartBytes> grouped_part_bytes(const StorageFormat& format, uint64_t rows, uint64_t cols,
                                       std::string_view where);

}  // namespace motley::quant
