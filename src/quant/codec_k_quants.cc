// GGUF Q2_K, Q3_K, Q4_K and Q5_K: super blocks of 256 inputs in groups with small integer scales (and minimums) beside
// f16 factors. Q6_K, which has a fast layout, is in a file of its own.
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

// Bit k of the 32 bytes before the nibbles is the fifth of group k's codes.
void q5_k(const std::byte* block, const BlockIntegers& out) {
  group_nibbles(block + 48, out.weights);
  for (size_t group = 0; group < 8; ++group)
    for (size_t j = 0; j < 32; ++j)
      out.weights[32 * group + j] |= static_cast<int16_t>((byte_at(block + 16, j) >> group & 1) << 4);
  set_pairs(block, out);
}

}  // namespace

const Codec codec_kQ2_K = BlockCodec<256, 84, IntegerForm::kBiased, q2_k>::kReadOnly;
const Codec codec_kQ3_K = BlockCodec<256, 110, IntegerForm::kScaled, q3_k>::kReadOnly;
const Codec codec_kQ4_K = BlockCodec<256, 144, IntegerForm::kBiased, q4_k>::kReadOnly;
const Codec codec_kQ5_K = BlockCodec<256, 176, IntegerForm::kBiased, q5_k>::kReadOnly;

}  // namespace motley::quant
