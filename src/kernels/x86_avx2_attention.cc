// Attention with AVX2. Up to kAttentionRows query rows are scored together: 16 keys are widened to f32 once and met by
// tiles of 6 rows (lanes are keys); then tiles of 6 rows gather values (lanes are head inputs). A tile's rows see
// different keys near their ends, so the keys that all of them see are walked together and the rest row by row.
#if defined(__x86_64__)
#include <algorithm>

#include "kernels/attention.h"
#include "kernels/x86_avx2.h"

namespace motley::kernels::avx2 {
namespace {

// 6 rows x 16 lanes: 12 accumulators, two keys (or values) and one query in 16 registers.
constexpr uint32_t kTileRows = 6;
constexpr uint32_t kPage = AttentionArgs::kPageTokens;

// Rows [first, first + count) of one call, with their scores at scores + row * stride.
struct Rows {
  const AttentionArgs& args;
  uint32_t first = 0, count = 0;
  uint32_t begin = 0, end = 0;  // the keys that any of them sees
  float* scores = nullptr;
  size_t stride = 0;
  float* keys = nullptr;    // room for 16 keys, widened
  float* totals = nullptr;  // [count]
};

uint32_t common_begin(const Rows& rows, uint32_t first, uint32_t count) {
  return *std::max_element(rows.args.begin + first, rows.args.begin + first + count);
}
uint32_t common_end(const Rows& rows, uint32_t first, uint32_t count) {
  return *std::min_element(rows.args.end + first, rows.args.end + first + count);
}

}  // namespace

MOTLEY_TARGET_BEGIN(MOTLEY_AVX2_FEATURES)
namespace {

// 16 keys as f32 [D][16]; f32 pages are used as they lie.
const float* widen_keys(const Rows& rows, uint32_t t) {
  const size_t at = size_t{t % kPage / 16} * rows.args.head_dim * 16;
  const std::byte* page = rows.args.key_pages[t / kPage];
  if (rows.args.kv_dtype == DType::kF32) return reinterpret_cast<const float*>(page) + at;
  for (uint32_t i = 0; i < rows.args.head_dim * 16; i += 8)
    _mm256_storeu_ps(rows.keys + i, load_f16x8(page + (at + i) * 2));
  return rows.keys;
}

template <int kRows>
void score_tile(const Rows& rows, const float* keys, uint32_t row, uint32_t t) {
  const AttentionArgs& args = rows.args;
  const float* queries = args.queries + size_t{rows.first + row} * args.query_stride;
  __m256 sums[2][kRows];
  MOTLEY_UNROLL
  for (int r = 0; r < kRows; ++r) sums[0][r] = sums[1][r] = _mm256_setzero_ps();
  for (uint32_t d = 0; d < args.head_dim; ++d) {
    const __m256 k0 = _mm256_loadu_ps(keys + 16 * d), k1 = _mm256_loadu_ps(keys + 16 * d + 8);
    MOTLEY_UNROLL
    for (int r = 0; r < kRows; ++r) {
      const __m256 q = _mm256_broadcast_ss(queries + static_cast<size_t>(r) * args.query_stride + d);
      sums[0][r] = _mm256_fmadd_ps(q, k0, sums[0][r]);
      sums[1][r] = _mm256_fmadd_ps(q, k1, sums[1][r]);
    }
  }
  const __m256 scale = _mm256_set1_ps(args.scale);
  MOTLEY_UNROLL
  for (int r = 0; r < kRows; ++r) {
    float* out = rows.scores + (row + static_cast<uint32_t>(r)) * rows.stride + t;
    _mm256_storeu_ps(out, _mm256_mul_ps(sums[0][r], scale));
    _mm256_storeu_ps(out + 8, _mm256_mul_ps(sums[1][r], scale));
  }
}

// Scores to exp(score - largest), zero where the row does not see the key; returns their sum. Works on whole blocks of
// 16 keys.
float soften(float* scores, uint32_t begin, uint32_t end) {
  const uint32_t first = begin / 16 * 16;
  const __m256 lowest = _mm256_set1_ps(-__builtin_inff());
  const __m256i lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  const __m256i before = _mm256_set1_epi32(static_cast<int>(begin) - 1),
                behind = _mm256_set1_epi32(static_cast<int>(end));
  __m256 largest = lowest;
  for (uint32_t t = first; t < end; t += 8) {
    const __m256i at = _mm256_add_epi32(_mm256_set1_epi32(static_cast<int>(t)), lanes);
    const __m256i seen = _mm256_and_si256(_mm256_cmpgt_epi32(at, before), _mm256_cmpgt_epi32(behind, at));
    const __m256 score = _mm256_blendv_ps(lowest, _mm256_loadu_ps(scores + t), _mm256_castsi256_ps(seen));
    _mm256_storeu_ps(scores + t, score);
    largest = _mm256_max_ps(largest, score);
  }
  const __m128 four = _mm_max_ps(_mm256_castps256_ps128(largest), _mm256_extractf128_ps(largest, 1));
  const __m128 two = _mm_max_ps(four, _mm_movehl_ps(four, four));
  const __m256 top = _mm256_set1_ps(_mm_cvtss_f32(_mm_max_ss(two, _mm_movehdup_ps(two))));
  __m256 sums[2] = {_mm256_setzero_ps(), _mm256_setzero_ps()};
  for (uint32_t t = first; t < end; t += 8) {
    const __m256 p = exp_f32x8(_mm256_sub_ps(_mm256_loadu_ps(scores + t), top));
    _mm256_storeu_ps(scores + t, p);
    sums[t / 8 % 2] = _mm256_add_ps(sums[t / 8 % 2], p);
  }
  return reduce16(sums[0], sums[1]);
}

MOTLEY_INLINE __m256 load_values(DType dtype, const std::byte* page, size_t at) {
  return dtype == DType::kF32 ? load_f32x8(page + at * 4) : load_f16x8(page + at * 2);
}

// sums += p * V for keys [begin, end) and head inputs [d, d + 8 * kVectors).
template <int kRows, int kVectors>
MOTLEY_INLINE void gather(const Rows& rows, uint32_t row, uint32_t d, uint32_t begin, uint32_t end,
                          __m256 (*sums)[kRows]) {
  const AttentionArgs& args = rows.args;
  const float* p = rows.scores + row * rows.stride;
  for (uint32_t t = begin; t < end; ++t) {
    const std::byte* page = args.value_pages[t / kPage];
    const size_t at = size_t{t % kPage} * args.head_dim + d;
    __m256 values[kVectors];
    MOTLEY_UNROLL
    for (int v = 0; v < kVectors; ++v) values[v] = load_values(args.kv_dtype, page, at + 8 * static_cast<size_t>(v));
    MOTLEY_UNROLL
    for (int r = 0; r < kRows; ++r) {
      const __m256 weight = _mm256_broadcast_ss(p + static_cast<size_t>(r) * rows.stride + t);
      MOTLEY_UNROLL
      for (int v = 0; v < kVectors; ++v) sums[v][r] = _mm256_fmadd_ps(weight, values[v], sums[v][r]);
    }
  }
}

template <int kRows, int kVectors>
void value_tile(const Rows& rows, uint32_t row, uint32_t d) {
  const AttentionArgs& args = rows.args;
  const uint32_t first = rows.first + row;
  const uint32_t begin = common_begin(rows, first, kRows), end = common_end(rows, first, kRows);
  __m256 sums[kVectors][kRows];
  MOTLEY_UNROLL
  for (int r = 0; r < kRows; ++r)
    for (int v = 0; v < kVectors; ++v) sums[v][r] = _mm256_setzero_ps();
  const bool together = begin < end;
  // A row's keys before the common ones, then the common ones, then those behind.
  for (int r = 0; r < kRows && kRows > 1; ++r) {
    __m256 one[kVectors][1];
    for (int v = 0; v < kVectors; ++v) one[v][0] = _mm256_setzero_ps();
    const uint32_t i = static_cast<uint32_t>(r);
    gather<1, kVectors>(rows, row + i, d, args.begin[first + i], together ? begin : args.end[first + i], one);
    for (int v = 0; v < kVectors; ++v) sums[v][r] = one[v][0];
  }
  if (together) gather<kRows, kVectors>(rows, row, d, begin, end, sums);
  for (int r = 0; r < kRows; ++r) {
    const uint32_t i = static_cast<uint32_t>(r);
    __m256 one[kVectors][1];
    for (int v = 0; v < kVectors; ++v) one[v][0] = sums[v][r];
    if (together && kRows > 1) gather<1, kVectors>(rows, row + i, d, end, args.end[first + i], one);
    const __m256 total = _mm256_set1_ps(rows.totals[row + i]);
    for (int v = 0; v < kVectors; ++v)
      _mm256_storeu_ps(args.out + (first + i) * args.out_stride + d + 8 * static_cast<size_t>(v),
                       _mm256_div_ps(one[v][0], total));
  }
}

// Head inputs [d, D) of one row, fewer than 8.
void value_tail(const Rows& rows, uint32_t row, uint32_t d) {
  const AttentionArgs& args = rows.args;
  const float* p = rows.scores + row * rows.stride;
  for (; d < args.head_dim; ++d) {
    float sum = 0;
    for (uint32_t t = args.begin[rows.first + row]; t < args.end[rows.first + row]; ++t) {
      const std::byte* page = args.value_pages[t / kPage];
      const size_t at = size_t{t % kPage} * args.head_dim + d;
      float value;
      if (args.kv_dtype == DType::kF32) {
        std::memcpy(&value, page + at * 4, 4);
      } else {
        uint16_t half;
        std::memcpy(&half, page + at * 2, 2);
        value = _cvtsh_ss(half);
      }
      sum = _mm_cvtss_f32(_mm_fmadd_ss(_mm_set_ss(p[t]), _mm_set_ss(value), _mm_set_ss(sum)));
    }
    args.out[(rows.first + row) * args.out_stride + d] = sum / rows.totals[row];
  }
}

using ScoreTile = void (*)(const Rows&, const float*, uint32_t, uint32_t);
using ValueTile = void (*)(const Rows&, uint32_t, uint32_t);
constexpr ScoreTile kScoreTiles[kTileRows] = {score_tile<1>, score_tile<2>, score_tile<3>,
                                              score_tile<4>, score_tile<5>, score_tile<6>};
constexpr ValueTile kWideTiles[kTileRows] = {value_tile<1, 2>, value_tile<2, 2>, value_tile<3, 2>,
                                             value_tile<4, 2>, value_tile<5, 2>, value_tile<6, 2>};
constexpr ValueTile kNarrowTiles[kTileRows] = {value_tile<1, 1>, value_tile<2, 1>, value_tile<3, 1>,
                                               value_tile<4, 1>, value_tile<5, 1>, value_tile<6, 1>};

}  // namespace
MOTLEY_TARGET_END

namespace {

void attend(const Rows& rows) {
  for (uint32_t t = rows.begin / 16 * 16; t < rows.end; t += 16) {
    const float* keys = widen_keys(rows, t);
    for (uint32_t row = 0; row < rows.count; row += kTileRows)
      kScoreTiles[std::min(kTileRows, rows.count - row) - 1](rows, keys, row, t);
  }
  for (uint32_t row = 0; row < rows.count; ++row)
    rows.totals[row] =
        soften(rows.scores + row * rows.stride, rows.args.begin[rows.first + row], rows.args.end[rows.first + row]);
  const uint32_t head_dim = rows.args.head_dim;
  for (uint32_t row = 0; row < rows.count; row += kTileRows) {
    const uint32_t tile = std::min(kTileRows, rows.count - row) - 1;
    uint32_t d = 0;
    for (; d + 16 <= head_dim; d += 16) kWideTiles[tile](rows, row, d);
    for (; d + 8 <= head_dim; d += 8) kNarrowTiles[tile](rows, row, d);
    for (uint32_t r = 0; d < head_dim && r <= tile; ++r) value_tail(rows, row + r, d);
  }
}

}  // namespace

void attention(const AttentionArgs& args) {
  const uint32_t max_end = *std::max_element(args.end, args.end + args.rows);
  const size_t stride = round_up_16(max_end);
  float* keys = args.scratch + std::min(args.rows, kAttentionRows) * stride;
  for (uint32_t first = 0; first < args.rows; first += kAttentionRows) {
    const uint32_t count = std::min(kAttentionRows, args.rows - first);
    attend({.args = args,
            .first = first,
            .count = count,
            .begin = *std::min_element(args.begin + first, args.begin + first + count),
            .end = *std::max_element(args.end + first, args.end + first + count),
            .scores = args.scratch,
            .stride = stride,
            .keys = keys,
            .totals = keys + kAttentionKeyFloats});
  }
}

}  // namespace motley::kernels::avx2
#endif
