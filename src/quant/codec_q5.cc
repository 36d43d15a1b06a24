// GGUF Q5_0 {f16 d, u32 high bits, 16 bytes} and Q5_1 {f16 d, f16 m, u32 high bits, 16 bytes}: blocks of 32 inputs;
// byte j holds the low bits of input j and of input j + 16. w = d * (code - 16), or d * code + m.
#include "quant/block_codec.h"

namespace motley::quant {
namespace {

int code_of(const std::byte* high_bits, const std::byte* nibbles, size_t i) {
  const uint32_t low = i < 16 ? low_nibble(nibbles, i) : high_nibble(nibbles, i - 16);
  return static_cast<int>(low | (load_u32(high_bits) >> i & 1) << 4);
}

void q5_0(const std::byte* block, const BlockIntegers& out) {
  for (size_t i = 0; i < 32; ++i) out.weights[i] = static_cast<int16_t>(code_of(block + 2, block + 6, i) - 16);
  out.set_runs(0, 32, load_f16(block));
}

void q5_1(const std::byte* block, const BlockIntegers& out) {
  for (size_t i = 0; i < 32; ++i) out.weights[i] = static_cast<int16_t>(code_of(block + 4, block + 8, i));
  out.set_runs(0, 32, load_f16(block), load_f16(block + 2));
}

}  // namespace

const Codec codec_kQ5_0 = BlockCodec<32, 22, IntegerForm::kScaled, q5_0>::kReadOnly;
const Codec codec_kQ5_1 = BlockCodec<32, 24, IntegerForm::kBiased, q5_1>::kReadOnly;

}  // namespace motley::quant
