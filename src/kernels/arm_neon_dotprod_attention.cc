// Attention with NEON: scores of 16 keys for up to 4 query rows at a time (lanes are keys), then values row by row
// (lanes are head inputs).
#if defined(__aarch64__)
#include <algorithm>

#include "kernels/arm_neon.h"
#include "kernels/attention.h"

namespace motley::kernels::neon {
namespace {

// 4 rows x 16 keys: 16 accumulators and 4 of keys in 32 registers.
constexpr uint32_t kTileRows = 4;
constexpr uint32_t kPage = AttentionArgs::kPageTokens;

// Rows [first, first + count) of one call, with their scores at scores + row * stride.
struct Rows {
  const AttentionArgs& args;
  uint32_t first = 0, count = 0;
  float* scores = nullptr;
  size_t stride = 0;
};

}  // namespace

MOTLEY_TARGET_BEGIN(MOTLEY_NEON_FEATURES)
namespace {

template <int kRows>
void score_tile(const Rows& rows, uint32_t row, uint32_t t) {
  const AttentionArgs& args = rows.args;
  const size_t size = args.kv_dtype == DType::kF32 ? 4 : 2;
  const std::byte* keys = args.key_pages[t / kPage] + size_t{t % kPage / 16} * args.head_dim * 16 * size;
  const float* queries = args.queries + size_t{rows.first + row} * args.query_stride;
  float32x4_t sums[4][kRows];
  for (int i = 0; i < 4; ++i)
    for (int r = 0; r < kRows; ++r) sums[i][r] = vdupq_n_f32(0);
  for (uint32_t d = 0; d < args.head_dim; ++d, keys += 16 * size) MOTLEY_UNROLL
  for (int i = 0; i < 4; ++i) {
    const float32x4_t key = load_floats(args.kv_dtype, keys, static_cast<size_t>(i));
    MOTLEY_UNROLL
    for (int r = 0; r < kRows; ++r)
      sums[i][r] = vfmaq_f32(sums[i][r], key, vdupq_n_f32(queries[static_cast<size_t>(r) * args.query_stride + d]));
  }
  for (int r = 0; r < kRows; ++r)
    for (int i = 0; i < 4; ++i)
      vst1q_f32(rows.scores + (row + static_cast<uint32_t>(r)) * rows.stride + t + 4 * i,
                vmulq_f32(sums[i][r], vdupq_n_f32(args.scale)));
}

// Scores to exp(score - largest), zero where the row does not see the key; returns their sum. Works on whole blocks of
// 16 keys.
float soften(float* scores, uint32_t begin, uint32_t end) {
  const uint32_t first = begin / 16 * 16;
  for (uint32_t t = first; t < begin; ++t) scores[t] = -__builtin_inff();
  for (uint32_t t = end; t % 16 != 0; ++t) scores[t] = -__builtin_inff();
  float32x4_t largest = vdupq_n_f32(-__builtin_inff());
  for (uint32_t t = first; t < end; t += 4) largest = vmaxq_f32(largest, vld1q_f32(scores + t));
  const float32x4_t top = vdupq_n_f32(vmaxvq_f32(largest));
  float32x4_t sums[4] = {vdupq_n_f32(0), vdupq_n_f32(0), vdupq_n_f32(0), vdupq_n_f32(0)};
  for (uint32_t t = first; t < end; t += 16) MOTLEY_UNROLL
  for (uint32_t i = 0; i < 4; ++i) {
    const float32x4_t p = exp_f32x4(vsubq_f32(vld1q_f32(scores + t + 4 * i), top));
    vst1q_f32(scores + t + 4 * i, p);
    sums[i] = vaddq_f32(sums[i], p);
  }
  return reduce16(sums);
}

// Head inputs [d, d + 4 * kVectors) of one row.
template <int kVectors>
void gather(const Rows& rows, uint32_t row, uint32_t d, float total) {
  const AttentionArgs& args = rows.args;
  const size_t size = args.kv_dtype == DType::kF32 ? 4 : 2;
  const float* p = rows.scores + row * rows.stride;
  float32x4_t sums[kVectors];
  for (int v = 0; v < kVectors; ++v) sums[v] = vdupq_n_f32(0);
  for (uint32_t t = args.begin[rows.first + row]; t < args.end[rows.first + row]; ++t) {
    const std::byte* values = args.value_pages[t / kPage] + (size_t{t % kPage} * args.head_dim + d) * size;
    MOTLEY_UNROLL
    for (int v = 0; v < kVectors; ++v)
      sums[v] = vfmaq_f32(sums[v], vdupq_n_f32(p[t]), load_floats(args.kv_dtype, values, static_cast<size_t>(v)));
  }
  float* out = args.out + (rows.first + row) * args.out_stride + d;
  for (int v = 0; v < kVectors; ++v) vst1q_f32(out + 4 * v, vdivq_f32(sums[v], vdupq_n_f32(total)));
}

void gather_one(const Rows& rows, uint32_t row, uint32_t d, float total) {
  const AttentionArgs& args = rows.args;
  float sum = 0;
  for (uint32_t t = args.begin[rows.first + row]; t < args.end[rows.first + row]; ++t) {
    const float value =
        tensor::load_float(args.kv_dtype, args.value_pages[t / kPage], size_t{t % kPage} * args.head_dim + d);
    sum = __builtin_fmaf(rows.scores[row * rows.stride + t], value, sum);
  }
  args.out[(rows.first + row) * args.out_stride + d] = sum / total;
}

void attend(const Rows& rows) {
  const AttentionArgs& args = rows.args;
  for (uint32_t row = 0; row < rows.count; row += kTileRows) {
    const uint32_t tile = rows.count - row < kTileRows ? 1 : kTileRows;
    for (uint32_t r = row; r < rows.count && r < row + kTileRows; r += tile) {
      uint32_t begin = args.begin[rows.first + r], end = args.end[rows.first + r];
      for (uint32_t i = 1; i < tile; ++i) {
        begin = args.begin[rows.first + r + i] < begin ? args.begin[rows.first + r + i] : begin;
        end = args.end[rows.first + r + i] > end ? args.end[rows.first + r + i] : end;
      }
      for (uint32_t t = begin / 16 * 16; t < end; t += 16)
        tile == 1 ? score_tile<1>(rows, r, t) : score_tile<kTileRows>(rows, r, t);
    }
  }
  for (uint32_t row = 0; row < rows.count; ++row) {
    const float total =
        soften(rows.scores + row * rows.stride, args.begin[rows.first + row], args.end[rows.first + row]);
    uint32_t d = 0;
    for (; d + 32 <= args.head_dim; d += 32) gather<8>(rows, row, d, total);
    for (; d + 4 <= args.head_dim; d += 4) gather<1>(rows, row, d, total);
    for (; d < args.head_dim; ++d) gather_one(rows, row, d, total);
  }
}

}  // namespace
MOTLEY_TARGET_END

void attention(const AttentionArgs& args) {
  const size_t stride = round_up_16(*std::max_element(args.end, args.end + args.rows));
  for (uint32_t first = 0; first < args.rows; first += kAttentionRows)
    attend({.args = args,
            .first = first,
            .count = std::min(kAttentionRows, args.rows - first),
            .scores = args.scratch,
            .stride = stride});
}

}  // namespace motley::kernels::neon
#endif
