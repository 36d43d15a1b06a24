// The function table of CPU arithmetic: one row a instruction set, chosen once a process. Only the CPU device calls it.
//
// ONE REDUCTION ORDER. Every slot's result for an output element is defined by the formulas here, operation by
// operation, so it does not depend on the tile, chunk, batch or thread it was computed in, and all instruction sets
// give the same bits. fma(a, b, c) is one rounding; everything else is f32 arithmetic with a rounding an operation. "In
// order" means index 0 first.
//
//   exact, float panels     y = 0; for k in order: y = fma(W[k], x[k], y)
//   exact, integer panels   y = 0; for each group g in order: t = 0; for k of g in order: t = fma(code[k] - z, x[k],
//   t);
//                           y = fma(t, scale[g], y); with biases: z = 0 and then y = fma(bias[g], sum[g], y)
//   exact, Q6_K             the same with groups of 16, z = 32 and scale = d * int8 scale (one f32 product)
//   fast, integer panels    y = 0; for each group g in order, for each activation group a of g in order:
//                           i = sum of code * xq over a (int32, exact), minus z * sum[a] without biases;
//                           y = fma(f32(i) * scale[g], xscale[a], y); with biases: y = fma(bias[g], xscale[a] *
//                           f32(sum[a]), y)
//   fast, Q6_K              activation groups of 32 hold two groups g0, g1: i = s0 * (i0 - 32 * h0) + s1 * (i1 - 32 *
//   h1)
//                           (int32; h = sums of xq over the 16), y = fma(f32(i) * d, xscale[a], y)
//   exact, stored panels    y = 0; for each run of 256 inputs in order (the last may be shorter): t = 0; for k of the
//   run
//                           in order: t = fma(W[k], x[k], t); y = y + t
//   fast, stored panels     with integers (quant::decode_integers): y = 0; for each run r of 16 inputs in order: i =
//   sum
//                           of integer * xq over r (int32, exact); y = fma(f32(i) * scale[r], xscale, y); with biases:
//                           y = fma(bias[r], xscale * f32(h), y), h the sum of xq over the run
//   fast, float panels, and stored ones without integers: as exact.
//   reduce16(lanes)         lane l += lane l+8 for l < 8, then l+4, then l+2, then l+1: lane 0 is the result.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "kernels/panel.h"

namespace motley::kernels {

// Rows of f32 activations, [T, K], row t at data + t*stride. sums: [T, K/group] with sum[g] = x[first of g] + … added
// in order, wanted only for panels with biases (group = format.group_size).
struct FloatRows {
  const float* data = nullptr;
  size_t stride = 0;
  const float* sums = nullptr;
  uint32_t tokens = 0;
};

// The codes xq of activations lie within +-kLargestActivationCode: 15 bits, so that no sum of a group leaves int32
// (Q6_K comes within 1 %), and each is 128 * high + low with two int8 (see int8_planes.h).
inline constexpr int32_t kLargestActivationCode = 127 * 128;

// Rows quantised by quantize_row(): codes [T, K], row t at codes + t*stride, scales and sums [T, K/group], and for
// groups of 32 also the sums of their halves. `groups` is K/group.
struct QuantizedRows {
  const int16_t* codes = nullptr;
  size_t stride = 0;
  const float* scales = nullptr;
  const int32_t* sums = nullptr;
  const int32_t* half_sums = nullptr;  // [T, K/16]; null unless the panels are Q6_K or stored
  uint32_t group = 0;
  uint64_t groups = 0;
  uint32_t tokens = 0;
};

// Where y goes: y(t, n) = data[t*stride + n] for output row n of the matrix. Rows past N of the last panel are not
// written.
struct OutputRows {
  float* data = nullptr;
  size_t stride = 0;
};

struct PanelRange {
  uint64_t begin = 0, end = 0;
};

// Attention of several query rows that share one KV head, over keys in pages.
//   Keys of a page:   [kPageTokens/16][D][16] (lanes are keys).     Values of a page: [kPageTokens][D].
// For each query row r over its visible keys [begin[r], end[r]):
//   s[t] = (fma chain over d in order from 0 of q[d] * K[t][d]) * scale; m = max s; p[t] = exp_f32(s[t] - m);
//   l = reduce16 over lanes t mod 16 (each adds its p in order of t from begin rounded down to 16, absent ones as 0);
//   out[d] = (fma chain over t in order from 0 of p[t] * V[t][d]) / l.
struct AttentionArgs {
  static constexpr uint32_t kPageTokens = 64;
  static constexpr uint32_t kMaxHeadDim = 512;  // the scratch has room for no more
  const float* queries = nullptr;               // [rows, D], row r at queries + r*query_stride
  size_t query_stride = 0;
  const uint32_t* begin = nullptr;  // [rows]
  const uint32_t* end = nullptr;    // [rows], > begin
  uint32_t rows = 0;
  uint32_t head_dim = 0;  // D, a multiple of 2, at most kMaxHeadDim
  float scale = 0;
  DType kv_dtype = DType::kF32;                 // kF32 or kF16
  const std::byte* const* key_pages = nullptr;  // [ceil(max end / kPageTokens)]
  const std::byte* const* value_pages = nullptr;
  float* out = nullptr;  // [rows, D], row r at out + r*out_stride
  size_t out_stride = 0;
  float* scratch = nullptr;  // attention_scratch_floats()
};
size_t attention_scratch_floats(uint32_t rows, uint32_t max_end);

enum class RopePairs : uint8_t { kInterleaved, kHalfSplit };

struct KernelTable {
  std::string_view name;          // "scalar", "avx2", "avx512_vnni", "neon_dotprod"
  bool (*supported)() = nullptr;  // by this processor and operating system

  // For each group of `group` inputs: a = max |x|, scale = a / kLargestActivationCode, code = round-half-even(x *
  // (1/scale)), sum = sum of codes; scale and codes are 0 when a < 2^-100 (1/scale would overflow). half_sums may be
  // null. cols is a multiple of group, group of 32.
  void (*quantize_row)(const float* x, size_t cols, uint32_t group, int16_t* codes, float* scales, int32_t* sums,
                       int32_t* half_sums) = nullptr;
  // sums[g] of FloatRows.
  void (*group_sums)(const float* x, size_t cols, uint32_t group, float* sums) = nullptr;

  void (*matmul_exact)(const PanelMatrix& w, const FloatRows& x, PanelRange panels, const OutputRows& y) = nullptr;
  void (*matmul_fast)(const PanelMatrix& w, const QuantizedRows& x, PanelRange panels, const OutputRows& y) = nullptr;

  void (*attention)(const AttentionArgs& args) = nullptr;

  // out[i] = x[i] * r * weight[i] (two products, in this order); r = 1 / sqrt(s / n + eps), s = reduce16 of lanes
  // acc[l] = fma(x[16i+l], x[16i+l], acc[l]); a tail shorter than 16 counts zeros. out may be x.
  void (*rms_norm)(const float* x, const float* weight, float eps, size_t n, float* out) = nullptr;
  // Rotates the first 2*half inputs of each of `heads` vectors of head_dim in place: (a, b) -> (a*c - b*s, b*c + a*s),
  // each as fma(a, c, -(b*s)) and fma(b, c, a*s). cos and sin hold `half` values for this position.
  void (*rope)(float* x, uint32_t heads, uint32_t head_dim, uint32_t half, const float* cos, const float* sin,
               RopePairs pairs) = nullptr;
  // gate[i] = gate[i] / (1 + exp_f32(-gate[i])) * up[i] (division, then product).
  void (*silu_mul)(float* gate, const float* up, size_t n) = nullptr;
  // x[i] += y[i].
  void (*add)(float* x, const float* y, size_t n) = nullptr;
  // Softmax-free conversion for KV pages: f16 of each value, round to nearest even.
  void (*to_f16)(const float* x, size_t n, uint16_t* out) = nullptr;
};

// exp by one documented polynomial that every instruction set evaluates with the same operations; relative error below
// 2^-22 on [-87, 88], 0 below, infinity above.
float exp_f32(float x);

// All rows that were compiled in, best last; those that run here say supported().
std::span<const KernelTable* const> all_tables();

// The best supported row, or the one named by set_table() (the environment is read by app, not here). NotFound for a
// name that does not exist, FailedPrecondition for one this processor lacks.
const KernelTable& table();
Status set_table(std::string_view name);

}  // namespace motley::kernels
