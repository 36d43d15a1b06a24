// GGUF MXFP4 {e8m0 exponent, 16 bytes} and NVFP4 {ue4m3 scales [4], 32 bytes}: e2m1 codes. The table holds twice the
// values of e2m1, and the scales are halved.
#include <bit>
#include <cmath>

#include "quant/block_codec.h"

namespace motley::quant {
namespace {

constexpr int16_t kTwiceE2m1[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

// Byte j holds input first + j in its low and input first + j + count in its high nibble.
void run(const std::byte* nibbles, size_t count, float scale, size_t first, const BlockIntegers& out) {
  for (size_t j = 0; j < count; ++j) {
    out.weights[first + j] = kTwiceE2m1[low_nibble(nibbles, j)];
    out.weights[first + j + count] = kTwiceE2m1[high_nibble(nibbles, j)];
  }
  out.set_runs(first, 2 * count, scale);
}

// 2^(e - 128); the two smallest are subnormal.
float half_e8m0(uint32_t e) { return std::bit_cast<float>(e < 2 ? 0x00200000u << e : (e - 1) << 23); }

void mxfp4(const std::byte* block, const BlockIntegers& out) {
  run(block + 1, 16, half_e8m0(byte_at(block, 0)), 0, out);
}

// Half an unsigned e4m3 (bias 7); its NaN counts as 0, as in ggml.
float half_ue4m3(uint32_t code) {
  if (code == 0x7f) return 0;
  const auto mantissa = static_cast<float>(code & 7);
  const auto exponent = static_cast<int>(code >> 3 & 15);
  return exponent == 0 ? std::ldexp(mantissa, -10) : std::ldexp(8 + mantissa, exponent - 11);
}

void nvfp4(const std::byte* block, const BlockIntegers& out) {
  for (size_t sub = 0; sub < 4; ++sub) run(block + 4 + 8 * sub, 8, half_ue4m3(byte_at(block, sub)), 16 * sub, out);
}

}  // namespace

const Codec codec_kMXFP4 = BlockCodec<32, 17, IntegerForm::kScaled, mxfp4>::kReadOnly;
const Codec codec_kNVFP4 = BlockCodec<64, 36, IntegerForm::kScaled, nvfp4>::kReadOnly;

}  // namespace motley::quant
