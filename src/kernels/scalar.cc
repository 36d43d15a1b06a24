// Every slot as table.h defines it, in plain C++: the reference of the other instruction sets and the floor they
// inherit from. The matmuls are in scalar_matmul.cc, attention in scalar_attention.cc.
#include "kernels/scalar.h"

#include <bit>
#include <cmath>
#include <limits>
#include <utility>

#include "kernels/exp.h"
#include "kernels/tables.h"

namespace motley::kernels {
namespace {

bool always_supported() { return true; }

void quantize_row(const float* x, size_t cols, uint32_t group, int16_t* codes, float* scales, int32_t* sums,
                  int32_t* half_sums) {
  for (size_t g = 0; g < cols / group; ++g, x += group, codes += group) {
    float largest = 0;
    for (uint32_t i = 0; i < group; ++i) largest = std::fabs(x[i]) > largest ? std::fabs(x[i]) : largest;
    const bool silent = largest < kSmallestActivation;
    scales[g] = silent ? 0 : largest / static_cast<float>(kLargestActivationCode);
    const float inverse = silent ? 0 : 1.0f / scales[g];
    int32_t halves[2] = {0, 0};
    for (uint32_t i = 0; i < group; ++i) {
      // |x * inverse| < 2^22, so adding 1.5 * 2^23 rounds it to an integer, which the low mantissa bits then hold.
      codes[i] = static_cast<int16_t>(std::bit_cast<int32_t>(x[i] * inverse + kRoundMagic));
      halves[i >= group / 2] += codes[i];
    }
    sums[g] = halves[0] + halves[1];
    if (half_sums != nullptr) half_sums[2 * g] = halves[0], half_sums[2 * g + 1] = halves[1];
  }
}

void group_sums(const float* x, size_t cols, uint32_t group, float* sums) {
  for (size_t g = 0; g < cols / group; ++g, x += group) {
    float sum = x[0];
    for (uint32_t i = 1; i < group; ++i) sum += x[i];
    sums[g] = sum;
  }
}

void rms_norm(const float* x, const float* weight, float eps, size_t n, float* out) {
  float lanes[16] = {};
  for (size_t i = 0; i < n; ++i) lanes[i % 16] = std::fma(x[i], x[i], lanes[i % 16]);
  const float r = 1.0f / std::sqrt(reduce16(lanes) / static_cast<float>(n) + eps);
  for (size_t i = 0; i < n; ++i) out[i] = x[i] * r * weight[i];
}

void rope(float* x, uint32_t heads, uint32_t head_dim, uint32_t half, const float* cos, const float* sin,
          RopePairs pairs) {
  const bool interleaved = pairs == RopePairs::kInterleaved;
  for (uint32_t head = 0; head < heads; ++head, x += head_dim)
    for (uint32_t i = 0; i < half; ++i) {
      float& first = x[interleaved ? 2 * i : i];
      float& second = x[interleaved ? 2 * i + 1 : i + half];
      const float a = first, b = second;
      first = std::fma(a, cos[i], -(b * sin[i]));
      second = std::fma(b, cos[i], a * sin[i]);
    }
}

void silu_mul(float* gate, const float* up, size_t n) {
  for (size_t i = 0; i < n; ++i) gate[i] = gate[i] / (1.0f + exp_f32(-gate[i])) * up[i];
}

void add(float* x, const float* y, size_t n) {
  for (size_t i = 0; i < n; ++i) x[i] += y[i];
}

void to_f16(const float* x, size_t n, uint16_t* out) {
  for (size_t i = 0; i < n; ++i) out[i] = tensor::f32_to_f16(x[i]);
}

}  // namespace

float exp_f32(float x) {
  if (x < kExpLowest) return 0;
  if (x > kExpHighest) return std::numeric_limits<float>::infinity();
  const float shifted = std::fma(x, kLog2E, kRoundMagic);
  const float n = shifted - kRoundMagic;
  const float r = std::fma(n, -kLn2Low, std::fma(n, -kLn2High, x));
  float p = kExpLeading;
  for (float coefficient : kExpCoefficients) p = std::fma(p, r, coefficient);
  const uint32_t exponent = std::bit_cast<uint32_t>(shifted) - static_cast<uint32_t>(kRoundMagicBits) + 127u;
  return p * std::bit_cast<float>(exponent << 23);
}

float reduce16(const float* lanes) {
  float sums[8];
  for (int l = 0; l < 8; ++l) sums[l] = lanes[l] + lanes[l + 8];
  for (int width = 4; width >= 1; width /= 2)
    for (int l = 0; l < width; ++l) sums[l] += sums[l + width];
  return sums[0];
}

KernelTable scalar_table() {
  return {.name = "scalar",
          .supported = always_supported,
          .quantize_row = quantize_row,
          .group_sums = group_sums,
          .matmul_exact = scalar::matmul_exact,
          .matmul_fast = scalar::matmul_fast,
          .attention = scalar::attention,
          .rms_norm = rms_norm,
          .rope = rope,
          .silu_mul = silu_mul,
          .add = add,
          .to_f16 = to_f16};
}

}  // namespace motley::kernels
