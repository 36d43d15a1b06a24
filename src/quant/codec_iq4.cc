// GGUF IQ4_NL {f16 d, 16 bytes} and IQ4_XS {f16 d, u16 high scale bits, low scale nibbles [4], 128 bytes}: 4-bit codes
// into a table of 16 values. In 32 inputs byte j holds input j in its low and input j + 16 in its high nibble.
#include "quant/block_codec.h"

namespace motley::quant {
namespace {

constexpr int16_t kValues[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};

// Inputs [first, first + 32).
void table_run(const std::byte* nibbles, float scale, size_t first, const BlockIntegers& out) {
  for (size_t j = 0; j < 16; ++j) {
    out.weights[first + j] = kValues[low_nibble(nibbles, j)];
    out.weights[first + j + 16] = kValues[high_nibble(nibbles, j)];
  }
  out.set_runs(first, 32, scale);
}

void iq4_nl(const std::byte* block, const BlockIntegers& out) { table_run(block + 2, load_f16(block), 0, out); }

void iq4_xs(const std::byte* block, const BlockIntegers& out) {
  const float d = load_f16(block);
  for (size_t run = 0; run < 8; ++run) {
    const uint32_t low = nibble_of(block + 4, run);
    const uint32_t high = load_u16(block + 2) >> (2 * run) & 3;
    table_run(block + 8 + 16 * run, d * static_cast<float>(static_cast<int>(low | high << 4) - 32), 32 * run, out);
  }
}

}  // namespace

const Codec codec_kIQ4_NL = BlockCodec<32, 18, IntegerForm::kScaled, iq4_nl>::kReadOnly;
const Codec codec_kIQ4_XS = BlockCodec<256, 136, IntegerForm::kScaled, iq4_xs>::kReadOnly;

}  // namespace motley::quant
