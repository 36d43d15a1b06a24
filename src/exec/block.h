// A network cut into the pieces that devices run: what each block computes (from the spec) with handles to the weights
// it needs on its device. Made by lower(), consumed by Device::compile().
#pragma once

#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

#include "model/spec.h"

namespace motley::exec {

// A weight as its device knows it: meaningless elsewhere.
struct WeightHandle {
  uint32_t index = 0;
  bool operator==(const WeightHandle&) const = default;
};

struct Linear {
  WeightHandle weight;               // [N, K]
  std::optional<WeightHandle> bias;  // [N]
};

// ids [T] -> stream [T, H]
struct EmbedBlock {
  WeightHandle table;  // [V, H]
  float scale = 1;
};

// stream += o(attention(norm(stream)))
struct AttentionBlock {
  model::SoftmaxAttention attention;
  model::Norm norm;
  WeightHandle norm_weight;
  Linear q, k, v, o;
};

// stream += down(silu(gate(n)) * up(n)), n = norm(stream)
struct FeedForwardBlock {
  model::DenseFeedForward feed_forward;
  model::Norm norm;
  WeightHandle norm_weight;
  Linear gate, up, down;
};

// stream [T, H] -> hidden [T, H] after the final norm -> logits [T, V]
struct HeadBlock {
  model::Norm norm;
  WeightHandle norm_weight;
  Linear head;
};

using Block = std::variant<EmbedBlock, AttentionBlock, FeedForwardBlock, HeadBlock>;

// A contiguous part of a network between two legal cuts (model::Cut). Token ids come in where the embedding is, a
// stream elsewhere; logits go out where the head is.
struct BlockRange {
  uint32_t first_half_layer = 0;
  uint32_t last_half_layer = 0;  // one past
  bool embedding = true;
  bool head = true;
};

inline BlockRange whole(const model::Spec& spec) {
  return {.last_half_layer = static_cast<uint32_t>(2 * spec.layers.size())};
}

}  // namespace motley::exec
