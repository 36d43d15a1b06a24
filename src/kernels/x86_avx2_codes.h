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

}  // namespace
MOTLEY_TARGET_END

}  // namespace motley::kernels::avx2
