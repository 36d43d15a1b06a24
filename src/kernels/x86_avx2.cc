// The AVX2 row with its small slots; the matmuls and attention have files of their own.
#if defined(__x86_64__)
#include "kernels/x86_avx2.h"

#include <cpuid.h>

#include "kernels/scalar.h"
#include "kernels/tables.h"

namespace motley::kernels {
namespace avx2 {

MOTLEY_TARGET_BEGIN(MOTLEY_AVX2_FEATURES)
namespace {

MOTLEY_INLINE __m256 magnitude(__m256 x) { return _mm256_andnot_ps(_mm256_set1_ps(-0.0f), x); }

MOTLEY_INLINE float largest_magnitude(const float* x, uint32_t n) {
  __m256 largest = _mm256_setzero_ps();
  for (uint32_t i = 0; i < n; i += 8) largest = _mm256_max_ps(magnitude(_mm256_loadu_ps(x + i)), largest);
  const __m128 four = _mm_max_ps(_mm256_castps256_ps128(largest), _mm256_extractf128_ps(largest, 1));
  const __m128 two = _mm_max_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_max_ss(two, _mm_movehdup_ps(two)));
}

MOTLEY_INLINE int32_t sum_lanes(__m256i x) {
  const __m128i four = _mm_add_epi32(_mm256_castsi256_si128(x), _mm256_extracti128_si256(x, 1));
  const __m128i two = _mm_add_epi32(four, _mm_unpackhi_epi64(four, four));
  return _mm_cvtsi128_si32(two) + _mm_extract_epi32(two, 1);
}

// 16 inputs to codes; returns their sum.
MOTLEY_INLINE int32_t quantize16(const float* x, __m256 inverse, int16_t* codes) {
  const __m256 magic = _mm256_set1_ps(kRoundMagic);
  const __m256i bias = _mm256_set1_epi32(kRoundMagicBits);
  const __m256i low =
      _mm256_sub_epi32(_mm256_castps_si256(_mm256_add_ps(_mm256_mul_ps(_mm256_loadu_ps(x), inverse), magic)), bias);
  const __m256i high =
      _mm256_sub_epi32(_mm256_castps_si256(_mm256_add_ps(_mm256_mul_ps(_mm256_loadu_ps(x + 8), inverse), magic)), bias);
  store_bytes(codes, _mm256_permute4x64_epi64(_mm256_packs_epi32(low, high), 0xd8));
  return sum_lanes(_mm256_add_epi32(low, high));
}

void quantize_row(const float* x, size_t cols, uint32_t group, int16_t* codes, float* scales, int32_t* sums,
                  int32_t* half_sums) {
  for (size_t g = 0; g < cols / group; ++g, x += group, codes += group) {
    const float largest = largest_magnitude(x, group);
    const bool silent = largest < kSmallestActivation;
    scales[g] = silent ? 0 : largest / static_cast<float>(kLargestActivationCode);
    const __m256 inverse = _mm256_set1_ps(silent ? 0 : 1.0f / scales[g]);
    int32_t halves[2] = {0, 0};
    for (uint32_t i = 0; i < group; i += 16) halves[i >= group / 2] += quantize16(x + i, inverse, codes + i);
    sums[g] = halves[0] + halves[1];
    if (half_sums != nullptr) half_sums[2 * g] = halves[0], half_sums[2 * g + 1] = halves[1];
  }
}

void rms_norm(const float* x, const float* weight, float eps, size_t n, float* out) {
  __m256 low = _mm256_setzero_ps(), high = _mm256_setzero_ps();
  size_t i = 0;
  for (; i + 16 <= n; i += 16) {
    const __m256 a = _mm256_loadu_ps(x + i), b = _mm256_loadu_ps(x + i + 8);
    low = _mm256_fmadd_ps(a, a, low);
    high = _mm256_fmadd_ps(b, b, high);
  }
  if (i < n) {
    float tail[16] = {};
    std::memcpy(tail, x + i, (n - i) * sizeof(float));
    const __m256 a = _mm256_loadu_ps(tail), b = _mm256_loadu_ps(tail + 8);
    low = _mm256_fmadd_ps(a, a, low);
    high = _mm256_fmadd_ps(b, b, high);
  }
  const float mean = reduce16(low, high) / static_cast<float>(n);
  const float r = 1.0f / __builtin_sqrtf(mean + eps);
  const __m256 scale = _mm256_set1_ps(r);
  for (i = 0; i + 8 <= n; i += 8)
    _mm256_storeu_ps(out + i, _mm256_mul_ps(_mm256_mul_ps(_mm256_loadu_ps(x + i), scale), _mm256_loadu_ps(weight + i)));
  for (; i < n; ++i) out[i] = x[i] * r * weight[i];
}

// Half-split pairs eight at a time; returns how many pairs are done.
MOTLEY_INLINE uint32_t rotate_split(float* x, uint32_t half, const float* cos, const float* sin) {
  uint32_t i = 0;
  for (; i + 8 <= half; i += 8) {
    const __m256 a = _mm256_loadu_ps(x + i), b = _mm256_loadu_ps(x + half + i);
    const __m256 c = _mm256_loadu_ps(cos + i), s = _mm256_loadu_ps(sin + i);
    _mm256_storeu_ps(x + i, _mm256_fmsub_ps(a, c, _mm256_mul_ps(b, s)));
    _mm256_storeu_ps(x + half + i, _mm256_fmadd_ps(b, c, _mm256_mul_ps(a, s)));
  }
  return i;
}

// Interleaved pairs four at a time: even lanes a, odd lanes b.
MOTLEY_INLINE uint32_t rotate_interleaved(float* x, uint32_t half, const float* cos, const float* sin) {
  const __m256i twice = _mm256_setr_epi32(0, 0, 1, 1, 2, 2, 3, 3);
  uint32_t i = 0;
  for (; i + 4 <= half; i += 4) {
    const __m256 c = _mm256_permutevar8x32_ps(_mm256_castps128_ps256(_mm_loadu_ps(cos + i)), twice);
    const __m256 s = _mm256_permutevar8x32_ps(_mm256_castps128_ps256(_mm_loadu_ps(sin + i)), twice);
    const __m256 pair = _mm256_loadu_ps(x + 2 * i);
    const __m256 crossed = _mm256_mul_ps(_mm256_permute_ps(pair, 0xb1), s);
    _mm256_storeu_ps(x + 2 * i, _mm256_fmaddsub_ps(pair, c, crossed));
  }
  return i;
}

void rope(float* x, uint32_t heads, uint32_t head_dim, uint32_t half, const float* cos, const float* sin,
          RopePairs pairs) {
  const bool interleaved = pairs == RopePairs::kInterleaved;
  for (uint32_t head = 0; head < heads; ++head, x += head_dim) {
    uint32_t i = interleaved ? rotate_interleaved(x, half, cos, sin) : rotate_split(x, half, cos, sin);
    for (; i < half; ++i) {
      float& first = x[interleaved ? 2 * i : i];
      float& second = x[interleaved ? 2 * i + 1 : i + half];
      const float a = first, b = second;
      first = __builtin_fmaf(a, cos[i], -(b * sin[i]));
      second = __builtin_fmaf(b, cos[i], a * sin[i]);
    }
  }
}

MOTLEY_INLINE __m256 silu_mul8(__m256 gate, __m256 up) {
  const __m256 denominator = _mm256_add_ps(_mm256_set1_ps(1), exp_f32x8(_mm256_xor_ps(gate, _mm256_set1_ps(-0.0f))));
  return _mm256_mul_ps(_mm256_div_ps(gate, denominator), up);
}

void silu_mul(float* gate, const float* up, size_t n) {
  size_t i = 0;
  for (; i + 8 <= n; i += 8) _mm256_storeu_ps(gate + i, silu_mul8(_mm256_loadu_ps(gate + i), _mm256_loadu_ps(up + i)));
  if (i == n) return;
  float tail[2][8] = {};
  std::memcpy(tail[0], gate + i, (n - i) * sizeof(float));
  std::memcpy(tail[1], up + i, (n - i) * sizeof(float));
  _mm256_storeu_ps(tail[0], silu_mul8(_mm256_loadu_ps(tail[0]), _mm256_loadu_ps(tail[1])));
  std::memcpy(gate + i, tail[0], (n - i) * sizeof(float));
}

void add(float* x, const float* y, size_t n) {
  size_t i = 0;
  for (; i + 8 <= n; i += 8) _mm256_storeu_ps(x + i, _mm256_add_ps(_mm256_loadu_ps(x + i), _mm256_loadu_ps(y + i)));
  for (; i < n; ++i) x[i] += y[i];
}

void to_f16(const float* x, size_t n, uint16_t* out) {
  size_t i = 0;
  for (; i + 8 <= n; i += 8)
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out + i),
                     _mm256_cvtps_ph(_mm256_loadu_ps(x + i), _MM_FROUND_TO_NEAREST_INT));
  for (; i < n; ++i) out[i] = _cvtss_sh(x[i], _MM_FROUND_TO_NEAREST_INT);
}

}  // namespace
MOTLEY_TARGET_END

namespace {

// clang 16's __builtin_cpu_supports does not know f16c: bit 29 of ecx of leaf 1.
bool has_f16c() {
  unsigned eax, ebx, ecx, edx;
  return __get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0 && (ecx >> 29 & 1) != 0;
}

bool supported() { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && has_f16c(); }

}  // namespace
}  // namespace avx2

KernelTable avx2_table() {
  return {.name = "avx2",
          .supported = avx2::supported,
          .quantize_row = avx2::quantize_row,
          .group_sums = nullptr,
          .matmul_exact = avx2::matmul_exact,
          .matmul_fast = avx2::matmul_fast,
          .attention = avx2::attention,
          .rms_norm = avx2::rms_norm,
          .rope = avx2::rope,
          .silu_mul = avx2::silu_mul,
          .add = avx2::add,
          .to_f16 = avx2::to_f16};
}

}  // namespace motley::kernels
#endif
