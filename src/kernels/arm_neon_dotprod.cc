// The NEON row with its small slots and attention; the matmuls have files of their own.
#if defined(__aarch64__)
#include "base/cpu.h"
#include "kernels/arm_neon.h"
#include "kernels/scalar.h"
#include "kernels/tables.h"

namespace motley::kernels {
namespace neon {

MOTLEY_TARGET_BEGIN(MOTLEY_NEON_FEATURES)
namespace {

void quantize_row(const float* x, size_t cols, uint32_t group, int16_t* codes, float* scales, int32_t* sums,
                  int32_t* half_sums) {
  const float32x4_t magic = vdupq_n_f32(kRoundMagic);
  for (size_t g = 0; g < cols / group; ++g, x += group, codes += group) {
    float32x4_t largest = vdupq_n_f32(0);
    for (uint32_t i = 0; i < group; i += 4) largest = vmaxq_f32(largest, vabsq_f32(vld1q_f32(x + i)));
    const float top = vmaxvq_f32(largest);
    const bool silent = top < kSmallestActivation;
    scales[g] = silent ? 0 : top / static_cast<float>(kLargestActivationCode);
    const float32x4_t inverse = vdupq_n_f32(silent ? 0 : 1.0f / scales[g]);
    int32_t halves[2] = {0, 0};
    for (uint32_t i = 0; i < group; i += 4) {
      const float32x4_t rounded = vaddq_f32(vmulq_f32(vld1q_f32(x + i), inverse), magic);
      const int32x4_t lanes = vsubq_s32(vreinterpretq_s32_f32(rounded), vdupq_n_s32(kRoundMagicBits));
      halves[i >= group / 2] += vaddvq_s32(lanes);
      vst1_s16(codes + i, vmovn_s32(lanes));
    }
    sums[g] = halves[0] + halves[1];
    if (half_sums != nullptr) half_sums[2 * g] = halves[0], half_sums[2 * g + 1] = halves[1];
  }
}

MOTLEY_INLINE void add_squares(const float* x, float32x4_t* lanes) {
  for (int i = 0; i < 4; ++i) {
    const float32x4_t four = vld1q_f32(x + 4 * i);
    lanes[i] = vfmaq_f32(lanes[i], four, four);
  }
}

void rms_norm(const float* x, const float* weight, float eps, size_t n, float* out) {
  float32x4_t lanes[4] = {vdupq_n_f32(0), vdupq_n_f32(0), vdupq_n_f32(0), vdupq_n_f32(0)};
  size_t i = 0;
  for (; i + 16 <= n; i += 16) add_squares(x + i, lanes);
  if (i < n) {
    float tail[16] = {};
    std::memcpy(tail, x + i, (n - i) * sizeof(float));
    add_squares(tail, lanes);
  }
  const float r = 1.0f / __builtin_sqrtf(reduce16(lanes) / static_cast<float>(n) + eps);
  for (i = 0; i + 4 <= n; i += 4)
    vst1q_f32(out + i, vmulq_f32(vmulq_f32(vld1q_f32(x + i), vdupq_n_f32(r)), vld1q_f32(weight + i)));
  for (; i < n; ++i) out[i] = x[i] * r * weight[i];
}

MOTLEY_INLINE float32x4_t silu_mul4(float32x4_t gate, float32x4_t up) {
  const float32x4_t denominator = vaddq_f32(vdupq_n_f32(1), exp_f32x4(vnegq_f32(gate)));
  return vmulq_f32(vdivq_f32(gate, denominator), up);
}

void silu_mul(float* gate, const float* up, size_t n) {
  size_t i = 0;
  for (; i + 4 <= n; i += 4) vst1q_f32(gate + i, silu_mul4(vld1q_f32(gate + i), vld1q_f32(up + i)));
  if (i == n) return;
  float tail[2][4] = {};
  std::memcpy(tail[0], gate + i, (n - i) * sizeof(float));
  std::memcpy(tail[1], up + i, (n - i) * sizeof(float));
  vst1q_f32(tail[0], silu_mul4(vld1q_f32(tail[0]), vld1q_f32(tail[1])));
  std::memcpy(gate + i, tail[0], (n - i) * sizeof(float));
}

void add(float* x, const float* y, size_t n) {
  size_t i = 0;
  for (; i + 4 <= n; i += 4) vst1q_f32(x + i, vaddq_f32(vld1q_f32(x + i), vld1q_f32(y + i)));
  for (; i < n; ++i) x[i] += y[i];
}

void to_f16(const float* x, size_t n, uint16_t* out) {
  size_t i = 0;
  for (; i + 4 <= n; i += 4) vst1_u16(out + i, vreinterpret_u16_f16(vcvt_f16_f32(vld1q_f32(x + i))));
  for (; i < n; ++i) {
    const auto half = static_cast<__fp16>(x[i]);
    std::memcpy(out + i, &half, 2);
  }
}

}  // namespace
MOTLEY_TARGET_END

namespace {

bool supported() { return cpu_has_arm_dotprod(); }

}  // namespace
}  // namespace neon

KernelTable neon_dotprod_table() {
  return {.name = "neon_dotprod",
          .supported = neon::supported,
          .quantize_row = neon::quantize_row,
          .group_sums = nullptr,
          .matmul_exact = neon::matmul_exact,
          .matmul_fast = neon::matmul_fast,
          .attention = neon::attention,
          .rms_norm = neon::rms_norm,
          .rope = nullptr,
          .silu_mul = neon::silu_mul,
          .add = neon::add,
          .to_f16 = neon::to_f16};
}

}  // namespace motley::kernels
#endif
