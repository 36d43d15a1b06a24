// The rows of Q and K where two checkpoints pair the inputs of a head differently (model::RopePairs): the same network
// needs them in another order. Rows of everything else, and of both where the pairs are the same, stay.
#pragma once

#include <cstdint>

#include "model/model.h"

namespace motley::convert {

class RowOrder {
 public:
  // Rows stay where they are.
  RowOrder() = default;
  // From the pairs `from` of heads of `head_dim` rows, whose first `rotary_dims` rows turn, to the pairs `to`.
  RowOrder(uint32_t head_dim, uint32_t rotary_dims, model::RopePairs from, model::RopePairs to);

  // Which row of the source is row `target` of the target.
  uint64_t source_row(uint64_t target) const;
  bool moves_rows() const { return moves_rows_; }

 private:
  bool moves_rows_ = false;
  uint32_t head_dim_ = 1, rotary_dims_ = 0;
  model::RopePairs to_ = model::RopePairs::kHalfSplit;
};

// The order that `role` needs in a target with pairs `to`: Q and K, weights and biases, of layers that turn.
RowOrder row_order(const model::Spec& spec, const model::Role& role, model::RopePairs to);

}  // namespace motley::convert
