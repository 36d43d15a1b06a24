// Floats of 4 and 8 bits (OCP Microscaling Formats, version 1.0, section 5.3, and OCP OFP8), widened to f32 exactly.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>

namespace motley::quant {

// Sign, 2 bits of exponent, 1 of mantissa.
inline float e2m1(uint32_t code) {
  constexpr float kValues[16] = {0, 0.5f, 1, 1.5f, 2, 3, 4, 6, -0.0f, -0.5f, -1, -1.5f, -2, -3, -4, -6};
  return kValues[code & 15];
}

// Sign, 4 bits of exponent with bias 7, 3 of mantissa; no infinity, NaN where all bits but the sign are set.
inline float e4m3(uint32_t code) {
  const uint32_t sign = (code & 0x80) << 24, exponent = code >> 3 & 15, mantissa = code & 7;
  if ((code & 0x7f) == 0x7f) return std::numeric_limits<float>::quiet_NaN();
  if (exponent == 0) return (sign != 0 ? -1.0f : 1.0f) * static_cast<float>(mantissa) * 0x1p-9f;
  return std::bit_cast<float>(sign | (exponent + 120) << 23 | mantissa << 20);
}

// An exponent only: 2^(code - 127), NaN where all bits are set.
inline float e8m0(uint32_t code) {
  if (code == 0xff) return std::numeric_limits<float>::quiet_NaN();
  return std::bit_cast<float>(code == 0 ? 0x00400000u : code << 23);
}

}  // namespace motley::quant
