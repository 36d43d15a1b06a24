// What the NEON files share. Included only by arm_neon_*.cc.
#pragma once

#include <arm_neon.h>

#include <cstdint>
#include <cstring>

#include "kernels/exp.h"
#include "kernels/panel_layout.h"
#include "kernels/table.h"
#include "kernels/target_region.h"

#if defined(__clang__)
#define MOTLEY_NEON_FEATURES "dotprod"
#else
// The intrinsics of gcc's arm_neon.h ask for the architecture too; every processor with dot product has it.
#define MOTLEY_NEON_FEATURES "arch=armv8.2-a+dotprod"
#endif

namespace motley::kernels::neon {

void matmul_exact(const PanelMatrix& w, const FloatRows& x, PanelRange panels, const OutputRows& y);
void matmul_fast(const PanelMatrix& w, const QuantizedRows& x, PanelRange panels, const OutputRows& y);
void attention(const AttentionArgs& args);

MOTLEY_TARGET_BEGIN(MOTLEY_NEON_FEATURES)
namespace {

// Four consecutive elements as f32.
MOTLEY_INLINE float32x4_t load_f16x4(const std::byte* at) {
  return vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(reinterpret_cast<const uint16_t*>(at))));
}
MOTLEY_INLINE float32x4_t load_bf16x4(const std::byte* at) {
  return vreinterpretq_f32_u32(vshll_n_u16(vld1_u16(reinterpret_cast<const uint16_t*>(at)), 16));
}

// Elements [4*quarter, 4*quarter + 4) of an array of `dtype`.
MOTLEY_INLINE float32x4_t load_floats(DType dtype, const std::byte* array, size_t quarter) {
  if (dtype == DType::kF16) return load_f16x4(array + 8 * quarter);
  if (dtype == DType::kBF16) return load_bf16x4(array + 8 * quarter);
  return vld1q_f32(reinterpret_cast<const float*>(array) + 4 * quarter);
}

MOTLEY_INLINE uint8x16_t load_bytes(const std::byte* at) { return vld1q_u8(reinterpret_cast<const uint8_t*>(at)); }

// reduce16 of table.h.
MOTLEY_INLINE float reduce16(const float32x4_t* lanes) {
  const float32x4_t low = vaddq_f32(lanes[0], lanes[2]), high = vaddq_f32(lanes[1], lanes[3]);
  const float32x4_t four = vaddq_f32(low, high);
  const float32x2_t two = vadd_f32(vget_low_f32(four), vget_high_f32(four));
  return vget_lane_f32(two, 0) + vget_lane_f32(two, 1);
}

// exp_f32 of exp.h, lane by lane.
MOTLEY_INLINE float32x4_t exp_f32x4(float32x4_t x) {
  const float32x4_t magic = vdupq_n_f32(kRoundMagic);
  const float32x4_t shifted = vfmaq_f32(magic, x, vdupq_n_f32(kLog2E));
  const float32x4_t n = vsubq_f32(shifted, magic);
  const float32x4_t r = vfmaq_f32(vfmaq_f32(x, n, vdupq_n_f32(-kLn2High)), n, vdupq_n_f32(-kLn2Low));
  float32x4_t p = vdupq_n_f32(kExpLeading);
  MOTLEY_UNROLL
  for (int i = 0; i < kExpSteps; ++i) p = vfmaq_f32(vdupq_n_f32(kExpCoefficients[i]), p, r);
  const int32x4_t exponent = vaddq_s32(vreinterpretq_s32_f32(shifted), vdupq_n_s32(127 - kRoundMagicBits));
  float32x4_t result = vmulq_f32(p, vreinterpretq_f32_s32(vshlq_n_s32(exponent, 23)));
  result = vbslq_f32(vcltq_f32(x, vdupq_n_f32(kExpLowest)), vdupq_n_f32(0), result);
  return vbslq_f32(vcgtq_f32(x, vdupq_n_f32(kExpHighest)), vdupq_n_f32(__builtin_inff()), result);
}

// Bits [kShift, kShift + kWidth) of a quad's codes for 4 rows, from the plane of width kWidth.
template <int kWidth, int kShift>
MOTLEY_INLINE uint8x16_t plane_bits(const std::byte* at, int quad) {
  constexpr int kPerByte = 8 / kWidth;
  const uint8x16_t bytes = load_bytes(at + quad / kPerByte * static_cast<int>(kVectorBytes));
  if constexpr (kWidth == 8) return bytes;
  const int up = kShift - kWidth * (quad % kPerByte);
  const uint8x16_t moved = vshlq_u8(bytes, vdupq_n_s8(static_cast<int8_t>(up)));
  return vandq_u8(moved, vdupq_n_u8(static_cast<uint8_t>(((1 << kWidth) - 1) << kShift)));
}

// Unsigned codes of one quad for 4 rows: byte 4*row + j is input 4*quad + j. `chunk` points to those rows' first byte.
template <int kBits>
MOTLEY_INLINE uint8x16_t quad_codes(const std::byte* chunk, int quad) {
  constexpr PlaneWidths kWidths = plane_widths(kBits);
  uint8x16_t codes = plane_bits<kWidths.low, 0>(chunk, quad);
  if constexpr (kWidths.high != 0)
    codes = vorrq_u8(codes, plane_bits<kWidths.high, kWidths.low>(chunk + kWidths.low * kVectorBytes, quad));
  return codes;
}

}  // namespace
MOTLEY_TARGET_END

}  // namespace motley::kernels::neon
