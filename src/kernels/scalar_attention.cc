#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/attention.h"
#include "kernels/scalar.h"

namespace motley::kernels {

size_t attention_scratch_floats(uint32_t rows, uint32_t max_end) {
  const size_t scored = std::min(rows, kAttentionRows);
  return scored * round_up_16(max_end) + kAttentionExtraFloats;
}

namespace scalar {
namespace {

constexpr uint32_t kPage = AttentionArgs::kPageTokens;

float key(const AttentionArgs& args, uint32_t t, uint32_t d) {
  const size_t in_page = t % kPage;
  return tensor::load_float(args.kv_dtype, args.key_pages[t / kPage],
                            (in_page / 16 * args.head_dim + d) * 16 + in_page % 16);
}

float value(const AttentionArgs& args, uint32_t t, uint32_t d) {
  return tensor::load_float(args.kv_dtype, args.value_pages[t / kPage], size_t{t % kPage} * args.head_dim + d);
}

float score(const AttentionArgs& args, const float* query, uint32_t t) {
  float s = 0;
  for (uint32_t d = 0; d < args.head_dim; ++d) s = std::fma(query[d], key(args, t, d), s);
  return s * args.scale;
}

void attend(const AttentionArgs& args, uint32_t row, float* p) {
  const uint32_t begin = args.begin[row], end = args.end[row];
  float largest = -std::numeric_limits<float>::infinity();
  for (uint32_t t = begin; t < end; ++t) {
    p[t] = score(args, args.queries + row * args.query_stride, t);
    largest = p[t] > largest ? p[t] : largest;
  }
  float lanes[16] = {};
  for (uint32_t t = begin; t < end; ++t) {
    p[t] = exp_f32(p[t] - largest);
    lanes[t % 16] += p[t];
  }
  const float total = reduce16(lanes);
  float* out = args.out + row * args.out_stride;
  for (uint32_t d = 0; d < args.head_dim; ++d) {
    float sum = 0;
    for (uint32_t t = begin; t < end; ++t) sum = std::fma(p[t], value(args, t, d), sum);
    out[d] = sum / total;
  }
}

}  // namespace

void attention(const AttentionArgs& args) {
  for (uint32_t row = 0; row < args.rows; ++row) attend(args, row, args.scratch);
}

}  // namespace scalar
}  // namespace motley::kernels
