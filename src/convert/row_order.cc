#include "convert/row_order.h"

namespace motley::convert {

using model::Part;
using model::RopePairs;

RowOrder::RowOrder(uint32_t head_dim, uint32_t rotary_dims, RopePairs from, RopePairs to)
    : moves_rows_(from != to), head_dim_(head_dim), rotary_dims_(rotary_dims), to_(to) {}

// Pair i of a head is rows 2i and 2i + 1 when interleaved, rows i and i + rotary/2 when split in halves.
uint64_t RowOrder::source_row(uint64_t target) const {
  if (!moves_rows_) return target;
  const uint64_t head_start = target / head_dim_ * head_dim_, at = target % head_dim_, half = rotary_dims_ / 2;
  if (at >= rotary_dims_) return target;
  if (to_ == RopePairs::kHalfSplit) return head_start + 2 * (at % half) + at / half;
  return head_start + at % 2 * half + at / 2;
}

RowOrder row_order(const model::Spec& spec, const model::Role& role, RopePairs to) {
  if (role.part != Part::kQ && role.part != Part::kK) return {};
  const auto& attention = std::get<model::SoftmaxAttention>(spec.layers[role.layer].mixer);
  if (!attention.rope) return {};
  return {attention.head_dim, attention.rope->rotary_dims, attention.rope->pairs, to};
}

}  // namespace motley::convert
