// A codec for formats whose row is a run of equal blocks, each decoded by itself: what a format adds is one function
// over one block. Only codec_*.cc include this.
#pragma once

#include <algorithm>

#include "quant/codec.h"

namespace motley::quant {

// kBytes bytes hold kCols numbers, which kDecode writes. The arithmetic of every kDecode follows gguf-py's, operation
// by operation, so that results are the same bits.
template <uint64_t kCols, uint64_t kBytes, void (*kDecode)(const std::byte* block, float* out)>
struct BlockCodec {
  static StatusOr<RowBytes> row_bytes(const StorageFormat& /*format*/, uint64_t cols, std::string_view where) {
    return block_row_bytes(cols, kCols, kBytes, where);
  }
  static void decode_row(const StoredMatrix& matrix, uint64_t row, uint64_t first, std::span<float> out) {
    const std::byte* block = row_start(matrix.codes, row, matrix.cols / kCols * kBytes) + first / kCols * kBytes;
    // A reader may want half a block: a tile of 128 inputs of blocks of 256.
    float numbers[kCols];
    for (uint64_t skipped = first % kCols, done = 0; done < out.size(); block += kBytes, skipped = 0) {
      const uint64_t count = std::min<uint64_t>(kCols - skipped, out.size() - done);
      kDecode(block, numbers);
      std::copy_n(numbers + skipped, count, out.data() + done);
      done += count;
    }
  }
  static constexpr Codec kReadOnly = {row_bytes, decode_row, nullptr, nullptr};
};

inline uint32_t byte_at(const std::byte* at, size_t index) { return std::to_integer<uint32_t>(at[index]); }
inline uint32_t low_nibble(const std::byte* at, size_t index) { return byte_at(at, index) & 15; }
inline uint32_t high_nibble(const std::byte* at, size_t index) { return byte_at(at, index) >> 4; }
// Nibble `index` of a run of bytes, the low one of each byte first.
inline uint32_t nibble_of(const std::byte* at, size_t index) {
  return byte_at(at, index / 2) >> (4 * (index % 2)) & 15;
}
// Bits 2t and 2t + 1 of 64 bytes hold input i of a block of 256: each half of 128 inputs has 32 bytes, and its run t of
// 32 lies in their bit pair t.
inline uint32_t bit_pair(const std::byte* pairs, size_t i) {
  return byte_at(pairs, 32 * (i / 128) + i % 32) >> (2 * (i % 128 / 32)) & 3;
}
inline uint32_t load_u16(const std::byte* at) { return byte_at(at, 0) | byte_at(at, 1) << 8; }
inline uint32_t load_u32(const std::byte* at) { return load_u16(at) | load_u16(at + 2) << 16; }

}  // namespace motley::quant
