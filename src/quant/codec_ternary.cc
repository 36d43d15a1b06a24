// GGUF formats of one or two bits a weight with one f16 scale a block: TQ1_0 {base-3 digits, f16 d}, TQ2_0 {bit pairs
// [64], f16 d}, Q1_0 {f16 d, bits [16]}, Q2_0 {f16 d, bit pairs [16]}.
#include "quant/block_codec.h"

namespace motley::quant {
namespace {

// Five digits to a byte, as a fraction of 256: the digit is the integer part of three times what is left.
constexpr uint32_t kPowers[5] = {1, 3, 9, 27, 81};
int digit(uint32_t byte, size_t n) { return static_cast<int>((byte * kPowers[n] & 0xff) * 3 >> 8); }

// 32 bytes hold digit n of inputs 32n…, 16 bytes that of 160 + 16n…, 4 bytes that of 240 + 4n….
void tq1_0(const std::byte* block, const BlockIntegers& out) {
  const auto weight = [block](size_t at, size_t n) { return static_cast<int16_t>(digit(byte_at(block, at), n) - 1); };
  for (size_t n = 0; n < 5; ++n) {
    for (size_t j = 0; j < 32; ++j) out.weights[32 * n + j] = weight(j, n);
    for (size_t j = 0; j < 16; ++j) out.weights[160 + 16 * n + j] = weight(32 + j, n);
  }
  for (size_t n = 0; n < 4; ++n)
    for (size_t j = 0; j < 4; ++j) out.weights[240 + 4 * n + j] = weight(48 + j, n);
  out.set_runs(0, 256, load_f16(block + 52));
}

void tq2_0(const std::byte* block, const BlockIntegers& out) {
  bit_pairs(block, out.weights);
  for (size_t i = 0; i < 256; ++i) out.weights[i] = static_cast<int16_t>(out.weights[i] - 1);
  out.set_runs(0, 256, load_f16(block + 64));
}

// w = d where the bit is set, -d where not.
void q1_0(const std::byte* block, const BlockIntegers& out) {
  for (size_t i = 0; i < 128; ++i) out.weights[i] = (byte_at(block, 2 + i / 8) >> (i % 8) & 1) != 0 ? 1 : -1;
  out.set_runs(0, 128, load_f16(block));
}

// w = d * (code - 1).
void q2_0(const std::byte* block, const BlockIntegers& out) {
  for (size_t i = 0; i < 64; ++i) {
    const uint32_t code = byte_at(block, 2 + i / 4) >> (2 * (i % 4)) & 3;
    out.weights[i] = static_cast<int16_t>(static_cast<int>(code) - 1);
  }
  out.set_runs(0, 64, load_f16(block));
}

}  // namespace

const Codec codec_kTQ1_0 = BlockCodec<256, 54, IntegerForm::kScaled, tq1_0>::kReadOnly;
const Codec codec_kTQ2_0 = BlockCodec<256, 66, IntegerForm::kScaled, tq2_0>::kReadOnly;
const Codec codec_kQ1_0 = BlockCodec<128, 18, IntegerForm::kScaled, q1_0>::kReadOnly;
const Codec codec_kQ2_0 = BlockCodec<64, 18, IntegerForm::kScaled, q2_0>::kReadOnly;

}  // namespace motley::quant
