// GGUF formats of one or two bits a weight with one f16 scale a block: TQ1_0 {base-3 digits, f16 d}, TQ2_0 {bit pairs
// [64], f16 d}, Q1_0 {f16 d, bits [16]}, Q2_0 {f16 d, bit pairs [16]}.
#include "quant/block_codec.h"

namespace motley::quant {
namespace {

// Five digits to a byte, as a fraction of 256: the digit is the integer part of three times what is left.
constexpr uint32_t kPowers[5] = {1, 3, 9, 27, 81};
int digit(uint32_t byte, size_t n) { return static_cast<int>((byte * kPowers[n] & 0xff) * 3 >> 8); }

// 32 bytes hold digit n of inputs 32n…, 16 bytes that of 160 + 16n…, 4 bytes that of 240 + 4n….
void tq1_0(const std::byte* block, float* out) {
  const float d = load_f16(block + 52);
  for (size_t n = 0; n < 5; ++n) {
    for (size_t j = 0; j < 32; ++j) out[32 * n + j] = d * static_cast<float>(digit(byte_at(block, j), n) - 1);
    for (size_t j = 0; j < 16; ++j)
      out[160 + 16 * n + j] = d * static_cast<float>(digit(byte_at(block, 32 + j), n) - 1);
  }
  for (size_t n = 0; n < 4; ++n)
    for (size_t j = 0; j < 4; ++j) out[240 + 4 * n + j] = d * static_cast<float>(digit(byte_at(block, 48 + j), n) - 1);
}

void tq2_0(const std::byte* block, float* out) {
  const float d = load_f16(block + 64);
  for (size_t i = 0; i < 256; ++i) out[i] = d * static_cast<float>(static_cast<int>(bit_pair(block, i)) - 1);
}

// w = d where the bit is set, -d where not.
void q1_0(const std::byte* block, float* out) {
  const float d = load_f16(block);
  for (size_t i = 0; i < 128; ++i) out[i] = (byte_at(block, 2 + i / 8) >> (i % 8) & 1) != 0 ? d : -d;
}

// w = d * (code - 1).
void q2_0(const std::byte* block, float* out) {
  const float d = load_f16(block);
  for (size_t i = 0; i < 64; ++i) {
    const uint32_t code = byte_at(block, 2 + i / 4) >> (2 * (i % 4)) & 3;
    out[i] = d * static_cast<float>(static_cast<int>(code) - 1);
  }
}

}  // namespace

const Codec codec_kTQ1_0 = BlockCodec<256, 54, tq1_0>::kReadOnly;
const Codec codec_kTQ2_0 = BlockCodec<256, 66, tq2_0>::kReadOnly;
const Codec codec_kQ1_0 = BlockCodec<128, 18, q1_0>::kReadOnly;
const Codec codec_kQ2_0 = BlockCodec<64, 18, q2_0>::kReadOnly;

}  // namespace motley::quant
