// GGUF Q2_K, Q3_K, Q4_K and Q5_K: super blocks of 256 inputs in groups with small integer scales (and minimums) beside
// f16 factors. Q6_K, which has a fast layout, is in a file of its own.
#include <array>
#include <cmath>

#include "quant/block_codec.h"

namespace motley::quant {
namespace {

// {scale and minimum nibbles [16], 64 bytes, f16 d, f16 dmin}: groups of 16. w = d * scale * code - dmin * minimum.
void q2_k(const std::byte* block, const BlockIntegers& out) {
  const float d = load_f16(block + 80), dmin = load_f16(block + 82);
  bit_pairs(block + 16, out.weights);
  for (size_t group = 0; group < 16; ++group)
    out.set_runs(16 * group, 16, d * static_cast<float>(low_nibble(block, group)),
                 -(dmin * static_cast<float>(high_nibble(block, group))));
}

// The 6-bit scale of group k of 16: four low bits in the first 8 bytes, two high ones in the other 4.
int q3_k_scale(const std::byte* scales, size_t k) {
  const uint32_t low = byte_at(scales, k % 8) >> (4 * (k / 8)) & 15;
  const uint32_t high = byte_at(scales, 8 + k % 4) >> (2 * (k / 4)) & 3;
  return static_cast<int>(low | high << 4) - 32;
}

// {high bits [32], 64 bytes, scales [12], f16 d}: groups of 16. w = d * scale * (code - 4); a high bit adds 4.
void q3_k(const std::byte* block, const BlockIntegers& out) {
  const float d = load_f16(block + 108);
  bit_pairs(block + 32, out.weights);
  for (size_t run = 0; run < 8; ++run)
    for (size_t j = 0; j < 32; ++j)
      out.weights[32 * run + j] |= static_cast<int16_t>((byte_at(block, j) >> run & 1) << 2);
  for (size_t i = 0; i < 256; ++i) out.weights[i] = static_cast<int16_t>(out.weights[i] - 4);
  for (size_t group = 0; group < 16; ++group)
    out.set_runs(16 * group, 16, d * static_cast<float>(q3_k_scale(block + 96, group)));
}

struct ScaleAndMinimum {
  uint32_t scale, minimum;
};
// Of group k of 8: 6 bits each, in 12 bytes.
ScaleAndMinimum pair_of(const std::byte* bytes, size_t k) {
  if (k < 4) return {byte_at(bytes, k) & 63, byte_at(bytes, k + 4) & 63};
  return {low_nibble(bytes, k + 4) | byte_at(bytes, k - 4) >> 6 << 4,
          high_nibble(bytes, k + 4) | byte_at(bytes, k) >> 6 << 4};
}

// 32 bytes hold four bits of the 64 inputs of two groups, the first in the low nibbles.
void group_nibbles(const std::byte* nibbles, int16_t* out) {
  for (size_t two = 0; two < 4; ++two)
    for (size_t j = 0; j < 32; ++j) {
      out[64 * two + j] = static_cast<int16_t>(low_nibble(nibbles, 32 * two + j));
      out[64 * two + 32 + j] = static_cast<int16_t>(high_nibble(nibbles, 32 * two + j));
    }
}

// {f16 d, f16 dmin, scales and minimums [12], …}: groups of 32. w = d * scale * code - dmin * minimum.
void set_pairs(const std::byte* block, const BlockIntegers& out) {
  const float d = load_f16(block), dmin = load_f16(block + 2);
  for (size_t group = 0; group < 8; ++group) {
    const ScaleAndMinimum pair = pair_of(block + 4, group);
    out.set_runs(32 * group, 32, d * static_cast<float>(pair.scale), -(dmin * static_cast<float>(pair.minimum)));
  }
}

void q4_k(const std::byte* block, const BlockIntegers& out) {
  group_nibbles(block + 16, out.weights);
  set_pairs(block, out);
}

// --- Q4_K written

constexpr size_t kQ4KGroups = 8;
constexpr float kTopPart = 63;  // of a 6-bit scale or minimum

void set_pair(std::array<uint8_t, 144>& block, size_t k, ScaleAndMinimum pair) {
  uint8_t* bytes = block.data() + 4;
  if (k < 4) {
    bytes[k] |= static_cast<uint8_t>(pair.scale);
    bytes[k + 4] |= static_cast<uint8_t>(pair.minimum);
    return;
  }
  bytes[k + 4] |= static_cast<uint8_t>((pair.scale & 15) | (pair.minimum & 15) << 4);
  bytes[k - 4] |= static_cast<uint8_t>(pair.scale >> 4 << 6);
  bytes[k] |= static_cast<uint8_t>(pair.minimum >> 4 << 6);
}

float as_f16(float value) { return tensor::f16_to_f32(tensor::f32_to_f16(value)); }

// Our own plain rule (ggml searches for better scales): a group's minimum is its lowest number, at most 0, and its step
// a fifteenth of the range above it; both in 63rds of the block's largest, the step rounded up so that nothing is cut
// off; code = (x + minimum) / step rounded to nearest, ties to even.
void encode_q4_k_block(std::span<const float> values, std::vector<std::byte>& out) {
  std::array<float, kQ4KGroups> steps, minimums;
  for (size_t k = 0; k < kQ4KGroups; ++k) {
    const auto group = values.subspan(32 * k, 32);
    const auto [low, high] = std::minmax_element(group.begin(), group.end());
    minimums[k] = std::max(0.0f, -*low);
    steps[k] = std::max(0.0f, *high + minimums[k]) / 15;
  }
  const float d = as_f16(*std::max_element(steps.begin(), steps.end()) / kTopPart);
  const float dmin = as_f16(*std::max_element(minimums.begin(), minimums.end()) / kTopPart);
  std::array<uint8_t, 144> block{};
  for (size_t k = 0; k < kQ4KGroups; ++k) {
    const float scale = d == 0 ? 0 : std::min(std::ceil(steps[k] / d), kTopPart);
    const float minimum = dmin == 0 ? 0 : std::min(std::nearbyint(minimums[k] / dmin), kTopPart);
    set_pair(block, k, {static_cast<uint32_t>(scale), static_cast<uint32_t>(minimum)});
    for (size_t i = 32 * k; i < 32 * (k + 1); ++i) {
      const float code = scale == 0 ? 0 : std::nearbyint((values[i] + dmin * minimum) / (d * scale));
      const auto nibble = static_cast<uint32_t>(std::clamp(code, 0.0f, 15.0f));
      block[16 + 32 * (i / 64) + i % 32] |= static_cast<uint8_t>(i % 64 < 32 ? nibble : nibble << 4);
    }
  }
  append_f16(out, d);
  append_f16(out, dmin);
  for (size_t i = 4; i < block.size(); ++i) append_byte(out, block[i]);
}

void q4_k_encode_row(const StorageFormat& /*format*/, std::span<const float> values, EncodedMatrix& out) {
  for (size_t first = 0; first < values.size(); first += 256) encode_q4_k_block(values.subspan(first, 256), out.codes);
}

// Bit k of the 32 bytes before the nibbles is the fifth of group k's codes.
void q5_k(const std::byte* block, const BlockIntegers& out) {
  group_nibbles(block + 48, out.weights);
  for (size_t group = 0; group < 8; ++group)
    for (size_t j = 0; j < 32; ++j)
      out.weights[32 * group + j] |= static_cast<int16_t>((byte_at(block + 16, j) >> group & 1) << 4);
  set_pairs(block, out);
}

using Q4K = BlockCodec<256, 144, IntegerForm::kBiased, q4_k>;

}  // namespace

const Codec codec_kQ2_K = BlockCodec<256, 84, IntegerForm::kBiased, q2_k>::kReadOnly;
const Codec codec_kQ3_K = BlockCodec<256, 110, IntegerForm::kScaled, q3_k>::kReadOnly;
const Codec codec_kQ4_K = {.row_bytes = Q4K::row_bytes,
                           .decode_row = Q4K::decode_row,
                           .decode_codes = nullptr,
                           .encode_row = q4_k_encode_row,
                           .integer_form = Q4K::integer_form,
                           .decode_integers = Q4K::decode_integers};
const Codec codec_kQ5_K = BlockCodec<256, 176, IntegerForm::kBiased, q5_k>::kReadOnly;

}  // namespace motley::quant
