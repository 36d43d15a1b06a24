// The constants of exp_f32, so that every instruction set evaluates the same operations. Not a public header of the
// module.
//
//   t = fma(x, log2(e), 1.5 * 2^23)    the magic addend rounds to the nearest integer n, kept in t's low mantissa bits
//   n = t - 1.5 * 2^23
//   r = fma(n, -kLn2Low, fma(n, -kLn2High, x))                          x - n ln 2, |r| <= ln 2 / 2
//   p = fma(p, r, c) for c in kCoefficients, from p = kLeading          e^r by its Taylor series up to degree 7: off by
//   2^-27 at most exp = p * 2^n, where 2^n has the exponent field of (bits(t) - bits(1.5 * 2^23) + 127) << 23
// Then 0 for x < -87 and infinity for x > 88: in between 2^n and the product are normal.
#pragma once

#include <cstdint>

namespace motley::kernels {

inline constexpr float kExpLowest = -87.0f, kExpHighest = 88.0f;
inline constexpr float kLog2E = 0x1.715476p+0f;
inline constexpr float kRoundMagic = 0x1.8p+23f;
inline constexpr int32_t kRoundMagicBits = 0x4b400000;
// ln 2 in two parts; the high one has 15 bits, so n * kLn2High is exact for |n| < 2^9.
inline constexpr float kLn2High = 0x1.62e4p-1f;
inline constexpr float kLn2Low = 0x1.7f7d1cp-20f;
inline constexpr float kExpLeading = 1.0f / 5040;
inline constexpr int kExpSteps = 7;
inline constexpr float kExpCoefficients[kExpSteps] = {1.0f / 720, 1.0f / 120, 1.0f / 24, 1.0f / 6, 0.5f, 1.0f, 1.0f};

}  // namespace motley::kernels
