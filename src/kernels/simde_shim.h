// Portable stand-ins for the AVX-512 intrinsics of x86_avx512_vnni.cc, for tests only: SIMDe (MIT, Debian's
// libsimde-dev), and what its version 0.7.4 lacks or, without FMA hardware, would round twice.
#pragma once

#define SIMDE_ENABLE_NATIVE_ALIASES
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"
#endif
#include <simde/x86/avx2.h>
#include <simde/x86/avx512.h>
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif

#include <cmath>
#include <cstdint>
#include <cstring>

#include "tensor/dtype.h"

namespace motley::kernels {
namespace {

// Lane by lane: result[i] = operation(argument[i], …), 16 lanes of 32 bits.
template <typename To, typename From, typename Vector, typename Operation>
simde__m512 map16(const Vector& vector, Operation operation) {
  From from[16];
  To to[16];
  std::memcpy(from, &vector, sizeof(from));
  for (int i = 0; i < 16; ++i) to[i] = operation(from[i]);
  simde__m512 result;
  std::memcpy(&result, to, sizeof(result));
  return result;
}

inline simde__m512 shim_cvtph_ps(simde__m256i x) { return map16<float, uint16_t>(x, tensor::f16_to_f32); }
inline simde__m512 shim_cvtepi32_ps(simde__m512i x) {
  return map16<float, int32_t>(x, [](int32_t lane) { return static_cast<float>(lane); });
}
inline simde__m512i shim_cvtepi8_epi32(simde__m128i x) {
  return simde_mm512_castps_si512(map16<int32_t, int8_t>(x, [](int8_t lane) { return int32_t{lane}; }));
}
inline simde__m512i shim_cvtepu16_epi32(simde__m256i x) {
  return simde_mm512_castps_si512(map16<uint32_t, uint16_t>(x, [](uint16_t lane) { return uint32_t{lane}; }));
}
inline simde__m512 shim_fmadd_ps(simde__m512 a, simde__m512 b, simde__m512 c) {
  float factors[16], addends[16];
  std::memcpy(factors, &b, sizeof(factors));
  std::memcpy(addends, &c, sizeof(addends));
  int next = 0;
  return map16<float, float>(a, [&](float lane) {
    const int i = next++;
    return std::fma(lane, factors[i], addends[i]);
  });
}

}  // namespace
}  // namespace motley::kernels

#undef _mm512_fmadd_ps
#define _mm512_cvtph_ps shim_cvtph_ps
#define _mm512_cvtepi32_ps shim_cvtepi32_ps
#define _mm512_cvtepi8_epi32 shim_cvtepi8_epi32
#define _mm512_cvtepu16_epi32 shim_cvtepu16_epi32
#define _mm512_fmadd_ps shim_fmadd_ps
