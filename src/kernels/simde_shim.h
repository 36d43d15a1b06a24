// Portable stand-ins for the AVX-512 intrinsics of x86_avx512_vnni.cc, for tests only: SIMDe's (MIT, Debian's
// libsimde-dev) where it has a faithful one, lane by lane here where it lacks one, wants a constant, or would round a
// fused product twice.
#pragma once

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

// result[i] = operation(argument[i], i) over all lanes of To in 64 bytes.
template <typename Result, typename To, typename From, typename Vector, typename Operation>
Result map_lanes(const Vector& vector, Operation operation) {
  constexpr int kLanes = 64 / sizeof(To);
  From from[kLanes];
  To to[kLanes];
  std::memcpy(from, &vector, sizeof(from));
  for (int i = 0; i < kLanes; ++i) to[i] = static_cast<To>(operation(from[i], i));
  Result result;
  std::memcpy(&result, to, sizeof(result));
  return result;
}

inline simde__m512 shim_cvtph_ps(simde__m256i x) {
  return map_lanes<simde__m512, float, uint16_t>(x, [](uint16_t lane, int) { return tensor::f16_to_f32(lane); });
}
inline simde__m512 shim_cvtepi32_ps(simde__m512i x) {
  return map_lanes<simde__m512, float, int32_t>(x, [](int32_t lane, int) { return static_cast<float>(lane); });
}
inline simde__m512i shim_cvtepi8_epi32(simde__m128i x) {
  return map_lanes<simde__m512i, int32_t, int8_t>(x, [](int8_t lane, int) { return lane; });
}
inline simde__m512i shim_cvtepu16_epi32(simde__m256i x) {
  return map_lanes<simde__m512i, uint32_t, uint16_t>(x, [](uint16_t lane, int) { return lane; });
}
inline simde__m512i shim_srli_epi16(simde__m512i x, unsigned by) {
  return map_lanes<simde__m512i, uint16_t, uint16_t>(x, [by](uint16_t lane, int) { return lane >> by; });
}
inline simde__m512i shim_slli_epi16(simde__m512i x, unsigned by) {
  return map_lanes<simde__m512i, uint16_t, uint16_t>(x, [by](uint16_t lane, int) { return lane << by; });
}
inline simde__m512i shim_srli_epi32(simde__m512i x, unsigned by) {
  return map_lanes<simde__m512i, uint32_t, uint32_t>(x, [by](uint32_t lane, int) { return lane >> by; });
}
inline simde__m512i shim_slli_epi32(simde__m512i x, unsigned by) {
  return map_lanes<simde__m512i, uint32_t, uint32_t>(x, [by](uint32_t lane, int) { return lane << by; });
}
inline simde__m512 shim_fmadd_ps(simde__m512 a, simde__m512 b, simde__m512 c) {
  float factors[16], addends[16];
  std::memcpy(factors, &b, sizeof(factors));
  std::memcpy(addends, &c, sizeof(addends));
  return map_lanes<simde__m512, float, float>(
      a, [&](float lane, int i) { return std::fma(lane, factors[i], addends[i]); });
}

}  // namespace
}  // namespace motley::kernels

// NOLINTBEGIN(bugprone-reserved-identifier): the names of the intrinsics are the point.
#define __m512 simde__m512
#define __m512i simde__m512i
#define __m256i simde__m256i
#define _mm256_loadu_si256 simde_mm256_loadu_si256
#define _mm512_add_epi32 simde_mm512_add_epi32
#define _mm512_and_si512 simde_mm512_and_si512
#define _mm512_castsi512_ps simde_mm512_castsi512_ps
#define _mm512_cvtepi32_ps shim_cvtepi32_ps
#define _mm512_cvtepi8_epi32 shim_cvtepi8_epi32
#define _mm512_cvtepu16_epi32 shim_cvtepu16_epi32
#define _mm512_cvtph_ps shim_cvtph_ps
#define _mm512_dpbusd_epi32 simde_mm512_dpbusd_epi32
#define _mm512_fmadd_ps shim_fmadd_ps
#define _mm512_loadu_ps simde_mm512_loadu_ps
#define _mm512_loadu_si512 simde_mm512_loadu_si512
#define _mm512_mul_ps simde_mm512_mul_ps
#define _mm512_mullo_epi32 simde_mm512_mullo_epi32
#define _mm512_or_si512 simde_mm512_or_si512
#define _mm512_set1_epi32 simde_mm512_set1_epi32
#define _mm512_set1_epi8 simde_mm512_set1_epi8
#define _mm512_set1_ps simde_mm512_set1_ps
#define _mm512_setzero_ps simde_mm512_setzero_ps
#define _mm512_setzero_si512 simde_mm512_setzero_si512
#define _mm512_slli_epi16 shim_slli_epi16
#define _mm512_slli_epi32 shim_slli_epi32
#define _mm512_srli_epi16 shim_srli_epi16
#define _mm512_srli_epi32 shim_srli_epi32
#define _mm512_storeu_ps simde_mm512_storeu_ps
#define _mm512_sub_epi32 simde_mm512_sub_epi32
#define _mm512_sub_ps simde_mm512_sub_ps
// NOLINTEND(bugprone-reserved-identifier)
