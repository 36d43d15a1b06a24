// A codec for formats whose row is a run of equal blocks, each decoded by itself: what a format adds is one function
// over one block. Only codec_*.cc include this.
#pragma once

#include <algorithm>

#include "quant/codec.h"

namespace motley::quant {

// What a block decodes to: w = scale * integer, or scale * integer + bias, with a scale (and a bias) for each run of 16
// inputs. Weights have the block's inputs, scales and biases its runs.
struct BlockIntegers {
  int16_t* weights;
  float* scales;
  float* biases;

  void set_runs(size_t first_input, size_t inputs, float scale, float bias = 0) const {
    for (size_t run = first_input / kIntegerRun; run < (first_input + inputs) / kIntegerRun; ++run) {
      scales[run] = scale;
      biases[run] = bias;
    }
  }
};

// kBytes bytes hold kCols numbers, which kDecode writes. Scales are computed as gguf-py does it, operation by
// operation, so that the numbers are the same bits.
template <uint64_t kCols, uint64_t kBytes, IntegerForm kForm,
          void (*kDecode)(const std::byte* block, const BlockIntegers& out)>
struct BlockCodec {
  static constexpr uint64_t kRuns = kCols / kIntegerRun;

  struct Numbers {
    int16_t weights[kCols];
    float scales[kRuns], biases[kRuns];

    void decode(const std::byte* block) { kDecode(block, {.weights = weights, .scales = scales, .biases = biases}); }
    float at(uint64_t i) const {
      const float product = scales[i / kIntegerRun] * static_cast<float>(weights[i]);
      return kForm == IntegerForm::kBiased ? product + biases[i / kIntegerRun] : product;
    }
  };
  // Calls use(numbers, first of them, how many, place of the first in the output): a reader may want half a block.
  template <typename Use>
  static void for_blocks(const StoredMatrix& matrix, uint64_t row, uint64_t first, uint64_t inputs, const Use& use) {
    const std::byte* block = row_start(matrix.codes, row, matrix.cols / kCols * kBytes) + first / kCols * kBytes;
    Numbers numbers;
    for (uint64_t skipped = first % kCols, done = 0; done < inputs; block += kBytes, skipped = 0) {
      const uint64_t count = std::min<uint64_t>(kCols - skipped, inputs - done);
      numbers.decode(block);
      use(numbers, skipped, count, done);
      done += count;
    }
  }

  static StatusOr<RowBytes> row_bytes(const StorageFormat& /*format*/, uint64_t cols, std::string_view where) {
    return block_row_bytes(cols, kCols, kBytes, where);
  }
  static void decode_row(const StoredMatrix& matrix, uint64_t row, uint64_t first, std::span<float> out) {
    for_blocks(matrix, row, first, out.size(),
               [&](const Numbers& numbers, uint64_t skipped, uint64_t count, uint64_t done) {
                 for (uint64_t i = 0; i < count; ++i) out[done + i] = numbers.at(skipped + i);
               });
  }
  static IntegerForm integer_form(const StorageFormat& /*format*/, uint64_t /*cols*/) { return kForm; }
  static void decode_integers(const StoredMatrix& matrix, uint64_t row, uint64_t first, std::span<int16_t> integers,
                              std::span<float> scales, std::span<float> biases) {
    for_blocks(
        matrix, row, first, integers.size(),
        [&](const Numbers& numbers, uint64_t skipped, uint64_t count, uint64_t done) {
          std::copy_n(numbers.weights + skipped, count, integers.data() + done);
          std::copy_n(numbers.scales + skipped / kIntegerRun, count / kIntegerRun, scales.data() + done / kIntegerRun);
          std::copy_n(numbers.biases + skipped / kIntegerRun, count / kIntegerRun, biases.data() + done / kIntegerRun);
        });
  }
  static constexpr Codec kReadOnly = {.row_bytes = row_bytes,
                                      .decode_row = decode_row,
                                      .decode_codes = nullptr,
                                      .encode_row = nullptr,
                                      .integer_form = integer_form,
                                      .decode_integers = decode_integers};
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
inline void bit_pairs(const std::byte* pairs, int16_t* out) {
  for (size_t half = 0; half < 2; ++half)
    for (size_t run = 0; run < 4; ++run)
      for (size_t j = 0; j < 32; ++j)
        out[128 * half + 32 * run + j] = static_cast<int16_t>(byte_at(pairs, 32 * half + j) >> (2 * run) & 3);
}
inline uint32_t load_u16(const std::byte* at) { return byte_at(at, 0) | byte_at(at, 1) << 8; }
inline uint32_t load_u32(const std::byte* at) { return load_u16(at) | load_u16(at + 2) << 16; }

}  // namespace motley::quant
