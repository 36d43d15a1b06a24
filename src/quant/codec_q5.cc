// GGUF Q5_0 {f16 d, u32 high bits, 16 bytes} and Q5_1 {f16 d, f16 m, u32 high bits, 16 bytes}: blocks of 32 inputs;
// byte j holds the low bits of input j and of input j + 16. w = d * (code - 16), or d * code + m.
#include "quant/block_codec.h"

namespace motley::quant {
namespace {

// Codes of 32 inputs.
void codes_of(const std::byte* high_bits, const std::byte* nibbles, int16_t* out) {
  for (size_t j = 0; j < 16; ++j) {
    out[j] = static_cast<int16_t>(low_nibble(nibbles, j));
    out[j + 16] = static_cast<int16_t>(high_nibble(nibbles, j));
  }
  const uint32_t high = load_u32(high_bits);
  for (size_t i = 0; i < 32; ++i) out[i] |= static_cast<int16_t>((high >> i & 1) << 4);
}

void q5_0(const std::byte* block, const BlockIntegers& out) {
  codes_of(block + 2, block + 6, out.weights);
  for (size_t i = 0; i < 32; ++i) out.weights[i] = static_cast<int16_t>(out.weights[i] - 16);
  out.set_runs(0, 32, load_f16(block));
}

void q5_1(const std::byte* block, const BlockIntegers& out) {
  codes_of(block + 4, block + 8, out.weights);
  out.set_runs(0, 32, load_f16(block), load_f16(block + 2));
}

}  // namespace

const Codec codec_kQ5_0 = BlockCodec<32, 22, IntegerForm::kScaled, q5_0>::kReadOnly;
const Codec codec_kQ5_1 = BlockCodec<32, 24, IntegerForm::kBiased, q5_1>::kReadOnly;

}  // namespace motley::quant
