// GGUF IQ1 to IQ3: super blocks of 256 inputs; an index picks 8 (or 4) values from a fixed grid, sign bits and a small
// scale a run make the weights. Except in IQ1, where there are no signs: a delta of +-1/8 is added instead.
#include "quant/block_codec.h"
#include "quant/iq_grids.h"

namespace motley::quant {
namespace {

constexpr size_t kEights = 32;  // runs of 8 inputs in a block

template <int kBits, size_t kCount>
void grid_values(uint32_t entry, const int16_t* values, int16_t* out) {
  for (size_t i = 0; i < kCount; ++i) out[i] = values[entry >> (kBits * i) & ((1u << kBits) - 1)];
}

// Turns 8 values over where a sign bit is set, and gives their run its scale.
void scale_and_sign(float scale, uint32_t signs, size_t eight, const BlockIntegers& out) {
  int16_t* values = out.weights + 8 * eight;
  for (size_t i = 0; i < 8; ++i)
    if ((signs >> i & 1) != 0) values[i] = static_cast<int16_t>(-values[i]);
  if (eight % 2 == 0) out.set_runs(8 * eight, kIntegerRun, scale);
}

// Seven sign bits are stored; the eighth makes their number even.
uint32_t even_signs(uint32_t seven) { return seven | (static_cast<uint32_t>(__builtin_popcount(seven)) & 1) << 7; }

float half_step_scale(float d, uint32_t scale, float factor) { return d * (0.5f + static_cast<float>(scale)) * factor; }

// {f16 d, 8 x (4 grid indices, u32 of 4 x 7 signs and 4 bits of scale)}
void iq2_xxs(const std::byte* block, const BlockIntegers& out) {
  const float d = load_f16(block);
  for (size_t eight = 0; eight < kEights; ++eight) {
    const std::byte* run = block + 2 + 8 * (eight / 4);
    const uint32_t word = load_u32(run + 4);
    grid_values<2, 8>(kIq2XxsGrid[byte_at(run, eight % 4)], kIq2XxsValues, out.weights + 8 * eight);
    scale_and_sign(half_step_scale(d, word >> 28, 0.25f), even_signs(word >> (7 * (eight % 4)) & 127), eight, out);
  }
}

// {f16 d, u16 of 9 index and 7 sign bits [32], scale nibbles for 16 inputs [8]}
void iq2_xs(const std::byte* block, const BlockIntegers& out) {
  const float d = load_f16(block);
  for (size_t eight = 0; eight < kEights; ++eight) {
    const uint32_t word = load_u16(block + 2 + 2 * eight);
    grid_values<2, 8>(kIq2XsGrid[word & 511], kIq2XsValues, out.weights + 8 * eight);
    scale_and_sign(half_step_scale(d, nibble_of(block + 66, eight / 2), 0.25f), even_signs(word >> 9), eight, out);
  }
}

// {f16 d, low 8 index bits [32], signs [32], high 2 index bits [8], scale nibbles for 16 inputs [8]}
void iq2_s(const std::byte* block, const BlockIntegers& out) {
  const float d = load_f16(block);
  for (size_t eight = 0; eight < kEights; ++eight) {
    const uint32_t high = byte_at(block, 66 + eight / 4) >> (2 * (eight % 4)) & 3;
    grid_values<2, 8>(kIq2SGrid[byte_at(block, 2 + eight) | high << 8], kIq2SValues, out.weights + 8 * eight);
    scale_and_sign(half_step_scale(d, nibble_of(block + 74, eight / 2), 0.25f), byte_at(block, 34 + eight), eight, out);
  }
}

// {f16 d, grid indices [64], u32 of 4 x 7 signs and 4 bits of scale [8]}
void iq3_xxs(const std::byte* block, const BlockIntegers& out) {
  const float d = load_f16(block);
  for (size_t eight = 0; eight < kEights; ++eight) {
    const uint32_t word = load_u32(block + 66 + 4 * (eight / 4));
    for (size_t half = 0; half < 2; ++half)
      grid_values<3, 4>(kIq3XxsGrid[byte_at(block, 2 + 2 * eight + half)], kIq3XxsValues,
                        out.weights + 8 * eight + 4 * half);
    scale_and_sign(half_step_scale(d, word >> 28, 0.5f), even_signs(word >> (7 * (eight % 4)) & 127), eight, out);
  }
}

// {f16 d, low 8 index bits [64], high index bits [8], signs [32], scale nibbles for 32 inputs [4]}
void iq3_s(const std::byte* block, const BlockIntegers& out) {
  const float d = load_f16(block);
  for (size_t eight = 0; eight < kEights; ++eight) {
    for (size_t four = 2 * eight; four < 2 * eight + 2; ++four) {
      const uint32_t high = byte_at(block, 66 + four / 8) >> (four % 8) & 1;
      grid_values<3, 4>(kIq3SGrid[byte_at(block, 2 + four) | high << 8], kIq3SValues, out.weights + 4 * four);
    }
    const float scale = d * static_cast<float>(1 + 2 * nibble_of(block + 106, eight / 4));
    scale_and_sign(scale, byte_at(block, 74 + eight), eight, out);
  }
}

// scale * (grid value + delta), in eighths
void iq1_run(uint32_t index, float scale, bool minus, size_t eight, const BlockIntegers& out) {
  int16_t* values = out.weights + 8 * eight;
  grid_values<2, 8>(kIq1Grid[index], kIq1Values, values);
  for (size_t i = 0; i < 8; ++i) values[i] = static_cast<int16_t>(8 * values[i] + (minus ? -1 : 1));
  if (eight % 2 == 0) out.set_runs(8 * eight, kIntegerRun, scale / 8);
}

// {f16 d, low 8 index bits [32], u16 of 4 x 3 index bits, 3 bits of scale, sign of delta [8]}
void iq1_s(const std::byte* block, const BlockIntegers& out) {
  const float d = load_f16(block);
  for (size_t eight = 0; eight < kEights; ++eight) {
    const uint32_t word = load_u16(block + 34 + 2 * (eight / 4));
    const uint32_t high = word >> (3 * (eight % 4)) & 7;
    const float scale = d * static_cast<float>(2 * (word >> 12 & 7) + 1);
    iq1_run(byte_at(block, 2 + eight) | high << 8, scale, (word & 0x8000) != 0, eight, out);
  }
}

// {low 8 index bits [32], nibbles of 3 index bits and the sign of delta [16], u16 of 4 x 3 bits of scale and a nibble
// of the f16 d, lowest first [4]}
void iq1_m(const std::byte* block, const BlockIntegers& out) {
  uint32_t bits = 0;
  for (size_t i = 0; i < 4; ++i) bits |= load_u16(block + 48 + 2 * i) >> 12 << (4 * i);
  const float d = tensor::f16_to_f32(static_cast<uint16_t>(bits));
  for (size_t eight = 0; eight < kEights; ++eight) {
    const size_t sixteen = eight / 2;
    const uint32_t scale = load_u16(block + 48 + 2 * (sixteen / 4)) >> (3 * (sixteen % 4)) & 7;
    const uint32_t nibble = nibble_of(block + 32, eight);
    iq1_run(byte_at(block, eight) | (nibble & 7) << 8, d * static_cast<float>(2 * scale + 1), (nibble & 8) != 0, eight,
            out);
  }
}

}  // namespace

const Codec codec_kIQ2_XXS = BlockCodec<256, 66, IntegerForm::kScaled, iq2_xxs>::kReadOnly;
const Codec codec_kIQ2_XS = BlockCodec<256, 74, IntegerForm::kScaled, iq2_xs>::kReadOnly;
const Codec codec_kIQ2_S = BlockCodec<256, 82, IntegerForm::kScaled, iq2_s>::kReadOnly;
const Codec codec_kIQ3_XXS = BlockCodec<256, 98, IntegerForm::kScaled, iq3_xxs>::kReadOnly;
const Codec codec_kIQ3_S = BlockCodec<256, 110, IntegerForm::kScaled, iq3_s>::kReadOnly;
const Codec codec_kIQ1_S = BlockCodec<256, 50, IntegerForm::kScaled, iq1_s>::kReadOnly;
const Codec codec_kIQ1_M = BlockCodec<256, 56, IntegerForm::kScaled, iq1_m>::kReadOnly;

}  // namespace motley::quant
