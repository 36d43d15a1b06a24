// Codes of packed chunks in AVX2 registers. Included only by x86_avx2_matmul*.cc.
#pragma once

#include "kernels/x86_avx2.h"

namespace motley::kernels::avx2 {

MOTLEY_TARGET_BEGIN(MOTLEY_AVX2_FEATURES)
namespace {

// Bits [kShift, kShift + kWidth) of a quad's codes, from the plane of width kWidth; `at` points to the plane's half.
template <int kWidth, int kShift>
MOTLEY_INLINE __m256i plane_bits(const std::byte* at, int quad) {
  constexpr int kPerByte = 8 / kWidth;
  const __m256i bytes = load_bytes(at + quad / kPerByte * kVectorBytes);
  if constexpr (kWidth == 8) return bytes;
  const __m256i mask = _mm256_set1_epi8(static_cast<char>(((1 << kWidth) - 1) << kShift));
  const int down = kWidth * (quad % kPerByte) - kShift;  // what crosses a byte's border is masked off
  const __m256i moved = down >= 0 ? _mm256_srli_epi16(bytes, down) : _mm256_slli_epi16(bytes, -down);
  return _mm256_and_si256(moved, mask);
}

// Unsigned codes of one quad for 8 rows: byte 4*row + j is input 4*quad + j. `chunk` points to the half's first byte.
template <int kBits>
MOTLEY_INLINE __m256i quad_codes(const std::byte* chunk, int quad) {
  constexpr PlaneWidths kWidths = plane_widths(kBits);
  __m256i codes = plane_bits<kWidths.low, 0>(chunk, quad);
  if constexpr (kWidths.high != 0)
    codes = _mm256_or_si256(codes, plane_bits<kWidths.high, kWidths.low>(chunk + kWidths.low * kVectorBytes, quad));
  return codes;
}

// Quads whose pair sums (2 * largest code * 127) may be added in int16.
template <int kBits>
constexpr int kSafeQuads = kBits <= 4   ? 8
                           : kBits == 5 ? 4
                           : kBits == 6 ? 2
                                        : 1;

// Four products of each row, as int16 pair sums. 8-bit codes are signed here: |w| times x with the sign of w, at most 2
// * 128 * 127.
template <int kBits>
MOTLEY_INLINE __m256i pair_sums(__m256i codes, __m256i x) {
  if constexpr (kBits != 8) return _mm256_maddubs_epi16(codes, x);
  const __m256i w = _mm256_xor_si256(codes, _mm256_set1_epi8(-128));
  return _mm256_maddubs_epi16(_mm256_abs_epi8(w), _mm256_sign_epi8(x, w));
}

// gcc turns a chain of integer vector sums into a tree whose leaves do not fit the registers: a tile of 3 tokens stored
// 42 vectors a chunk and read them back (docs/experiments.md). The empty statement hides the sum from it.
MOTLEY_INLINE __m256i add_in_order(__m256i a, __m256i b) {
  __m256i sum = _mm256_add_epi16(a, b);
  __asm__("" : "+x"(sum));
  return sum;
}
MOTLEY_INLINE __m256i add_in_order32(__m256i a, __m256i b) {
  __m256i sum = _mm256_add_epi32(a, b);
  __asm__("" : "+x"(sum));
  return sum;
}

// The int8 scales of a group of Q6_K for 8 rows, widened, each twice side by side.
MOTLEY_INLINE __m256i twice(__m128i scales16) {
  return _mm256_set_m128i(_mm_unpackhi_epi16(scales16, scales16), _mm_unpacklo_epi16(scales16, scales16));
}

}  // namespace
MOTLEY_TARGET_END

}  // namespace motley::kernels::avx2
