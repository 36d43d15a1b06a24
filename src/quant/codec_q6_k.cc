// GGUF Q6_K {128 bytes of low nibbles, 64 bytes of high bit pairs, int8 scale[16], f16 d}: blocks of 256 inputs in
// groups of 16. w = (d * scale) * (code - 32).
#include <algorithm>
#include <array>
#include <cmath>

#include "quant/codec.h"

namespace motley::quant {
namespace {

constexpr uint64_t kBlockCols = 256;
constexpr uint64_t kGroupCols = 16;
constexpr uint64_t kGroups = kBlockCols / kGroupCols;
constexpr uint64_t kHighAt = 128, kScalesAt = 192, kScaleAt = 208, kBlockBytes = 210;

StatusOr<RowBytes> q6_k_row_bytes(const StorageFormat& /*format*/, uint64_t cols, std::string_view where) {
  return block_row_bytes(cols, kBlockCols, kBlockBytes, where);
}

const std::byte* block_of(const StoredMatrix& matrix, uint64_t row, size_t k) {
  return row_start(matrix.codes, row, matrix.cols / kBlockCols * kBlockBytes) + k / kBlockCols * kBlockBytes;
}

// Where the bits of input i of a block lie. Each half of 128 inputs has four runs of 32: runs 0 and 1 are the low
// nibbles of its 64 bytes, runs 2 and 3 the high ones; its 32 bytes of high bits hold a pair for each run, run 0
// lowest.
struct Place {
  size_t low_byte, low_shift, high_byte, high_shift;
};
Place place_of(size_t i) {
  const size_t half = i / 128, run = i % 128 / 32, lane = i % 32;
  return {.low_byte = 64 * half + 32 * (run % 2) + lane,
          .low_shift = 4 * (run / 2),
          .high_byte = kHighAt + 32 * half + lane,
          .high_shift = 2 * run};
}

uint8_t code_of(const std::byte* block, size_t i) {
  const Place place = place_of(i);
  const uint32_t low = std::to_integer<uint32_t>(block[place.low_byte]) >> place.low_shift & 15;
  const uint32_t high = std::to_integer<uint32_t>(block[place.high_byte]) >> place.high_shift & 3;
  return static_cast<uint8_t>(low | high << 4);
}

void q6_k_decode_codes(const StoredMatrix& matrix, uint64_t row, std::span<uint8_t> out) {
  for (size_t k = 0; k < out.size(); ++k) out[k] = code_of(block_of(matrix, row, k), k % kBlockCols);
}

void q6_k_decode_row(const StoredMatrix& matrix, uint64_t row, uint64_t first, std::span<float> out) {
  for (size_t k = first; k < first + out.size(); ++k) {
    const std::byte* block = block_of(matrix, row, k);
    const auto group_scale = static_cast<int8_t>(block[kScalesAt + k % kBlockCols / kGroupCols]);
    out[k - first] = load_f16(block + kScaleAt) * static_cast<float>(group_scale) *
                     static_cast<float>(code_of(block, k % kBlockCols) - 32);
  }
}

// One step for each group: its largest magnitude over 31, so that codes are symmetric about 32.
std::array<float, kGroups> group_steps(std::span<const float> block) {
  std::array<float, kGroups> steps;
  for (size_t g = 0; g < kGroups; ++g) {
    float largest = 0;
    for (float value : block.subspan(g * kGroupCols, kGroupCols)) largest = std::max(largest, std::fabs(value));
    steps[g] = largest / 31;
  }
  return steps;
}

// Our own plain rule (ggml searches for better scales): d = largest step / 127, group scale = step / d rounded up so
// that no value is cut off, code = x / (d * scale) rounded to nearest, ties to even.
void encode_block(std::span<const float> block, std::vector<std::byte>& out) {
  const std::array<float, kGroups> steps = group_steps(block);
  const float d = tensor::f16_to_f32(tensor::f32_to_f16(*std::max_element(steps.begin(), steps.end()) / 127));
  std::array<uint8_t, kBlockBytes> bytes{};
  for (size_t i = 0; i < kBlockCols; ++i) {
    const float scale = d == 0 ? 0 : std::min(std::ceil(steps[i / kGroupCols] / d), 127.0f);
    const float code = scale == 0 ? 0 : std::clamp(std::nearbyint(block[i] / (d * scale)), -32.0f, 31.0f);
    const auto biased = static_cast<uint32_t>(static_cast<int>(code) + 32);
    const Place place = place_of(i);
    bytes[place.low_byte] |= static_cast<uint8_t>((biased & 15) << place.low_shift);
    bytes[place.high_byte] |= static_cast<uint8_t>(biased >> 4 << place.high_shift);
    bytes[kScalesAt + i / kGroupCols] = static_cast<uint8_t>(scale);
  }
  for (size_t i = 0; i < kScaleAt; ++i) append_byte(out, bytes[i]);
  append_f16(out, d);
}

void q6_k_encode_row(const StorageFormat& /*format*/, std::span<const float> values, EncodedMatrix& out) {
  for (size_t first = 0; first < values.size(); first += kBlockCols)
    encode_block(values.subspan(first, kBlockCols), out.codes);
}

}  // namespace

const Codec codec_kQ6_K = {q6_k_row_bytes, q6_k_decode_row, q6_k_decode_codes, q6_k_encode_row};

}  // namespace motley::quant
