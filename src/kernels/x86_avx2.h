// What the AVX2 files share: the slots (each in a file of its own) and small vector helpers. Included only by
// x86_avx2*.cc.
#pragma once

#include <immintrin.h>

#include <cstdint>
#include <cstring>

#include "kernels/exp.h"
#include "kernels/panel_layout.h"
#include "kernels/table.h"
#include "kernels/target_region.h"

#define MOTLEY_AVX2_FEATURES "avx2,fma,f16c"

namespace motley::kernels::avx2 {

void matmul_exact(const PanelMatrix& w, const FloatRows& x, PanelRange panels, const OutputRows& y);
void matmul_fast(const PanelMatrix& w, const QuantizedRows& x, PanelRange panels, const OutputRows& y);
// matmul_fast for a single token.
void matmul_stream(const PanelMatrix& w, const QuantizedRows& x, PanelRange panels, const OutputRows& y);
void attention(const AttentionArgs& args);

MOTLEY_TARGET_BEGIN(MOTLEY_AVX2_FEATURES)
namespace {

// Eight consecutive elements as f32.
MOTLEY_INLINE __m256 load_f16x8(const void* at) {
  return _mm256_cvtph_ps(_mm_loadu_si128(static_cast<const __m128i*>(at)));
}
MOTLEY_INLINE __m256 load_bf16x8(const void* at) {
  const __m256i wide = _mm256_cvtepu16_epi32(_mm_loadu_si128(static_cast<const __m128i*>(at)));
  return _mm256_castsi256_ps(_mm256_slli_epi32(wide, 16));
}
MOTLEY_INLINE __m256 load_f32x8(const void* at) { return _mm256_loadu_ps(static_cast<const float*>(at)); }

// Elements [8*half, 8*half + 8) of an array of `dtype`.
MOTLEY_INLINE __m256 load_floats(DType dtype, const std::byte* array, uint32_t half) {
  if (dtype == DType::kF16) return load_f16x8(array + 16 * half);
  if (dtype == DType::kBF16) return load_bf16x8(array + 16 * half);
  return load_f32x8(array + 32 * half);
}

MOTLEY_INLINE __m256i load_bytes(const void* at) { return _mm256_loadu_si256(static_cast<const __m256i*>(at)); }
MOTLEY_INLINE void store_bytes(void* at, __m256i value) { _mm256_storeu_si256(static_cast<__m256i*>(at), value); }

// Four bytes in every lane.
MOTLEY_INLINE __m256i broadcast4(const void* at) {
  int32_t four;
  std::memcpy(&four, at, 4);
  return _mm256_set1_epi32(four);
}

// reduce16 of table.h; lanes 0 to 7 are in `low`.
MOTLEY_INLINE float reduce16(__m256 low, __m256 high) {
  const __m256 eight = _mm256_add_ps(low, high);
  const __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}

// exp_f32 of exp.h, lane by lane.
MOTLEY_INLINE __m256 exp_f32x8(__m256 x) {
  const __m256 shifted = _mm256_fmadd_ps(x, _mm256_set1_ps(kLog2E), _mm256_set1_ps(kRoundMagic));
  const __m256 n = _mm256_sub_ps(shifted, _mm256_set1_ps(kRoundMagic));
  const __m256 high = _mm256_fmadd_ps(n, _mm256_set1_ps(-kLn2High), x);
  const __m256 r = _mm256_fmadd_ps(n, _mm256_set1_ps(-kLn2Low), high);
  __m256 p = _mm256_set1_ps(kExpLeading);
  MOTLEY_UNROLL
  for (int i = 0; i < kExpSteps; ++i) p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(kExpCoefficients[i]));
  const __m256i exponent = _mm256_add_epi32(_mm256_castps_si256(shifted), _mm256_set1_epi32(127 - kRoundMagicBits));
  const __m256 result = _mm256_mul_ps(p, _mm256_castsi256_ps(_mm256_slli_epi32(exponent, 23)));
  const __m256 low = _mm256_cmp_ps(x, _mm256_set1_ps(kExpLowest), _CMP_LT_OQ);
  const __m256 top = _mm256_cmp_ps(x, _mm256_set1_ps(kExpHighest), _CMP_GT_OQ);
  return _mm256_blendv_ps(_mm256_andnot_ps(low, result), _mm256_set1_ps(__builtin_inff()), top);
}

}  // namespace
MOTLEY_TARGET_END

}  // namespace motley::kernels::avx2
