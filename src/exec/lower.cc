#include "exec/lower.h"

namespace motley::exec {
namespace {

using model::Part;
using model::Slot;

class Lowering {
 public:
  Lowering(const model::Spec& spec, const model::WeightSource& weights, Device& device)
      : spec_(spec), weights_(weights), device_(device) {}

  Status embedding() {
    TRY(const WeightHandle table, upload(Part::kEmbedding, Slot::kWeight, 0));
    embedding_ = table;
    blocks_.emplace_back(EmbedBlock{.table = table, .scale = spec_.embedding.scale});
    return absl::OkStatus();
  }

  Status half_layer(uint32_t index) {
    const uint32_t layer = index / 2;
    if (index % 2 == 0) return mixer(layer, std::get<model::SoftmaxAttention>(spec_.layers[layer].mixer));
    return feed_forward(layer, std::get<model::DenseFeedForward>(spec_.layers[layer].feed_forward));
  }

  Status head() {
    HeadBlock block{.norm = spec_.final_norm, .norm_weight = {}, .head = {}};
    TRY(block.norm_weight, upload(Part::kFinalNorm, Slot::kWeight, 0));
    if (!spec_.head.tied) {
      TRY(block.head, linear(Part::kHead, 0, spec_.head.bias));
    } else if (embedding_) {
      block.head.weight = *embedding_;  // one table serves both when they share a device
    } else {
      TRY(block.head.weight, upload(Part::kEmbedding, Slot::kWeight, 0));
    }
    blocks_.emplace_back(std::move(block));
    return absl::OkStatus();
  }

  std::vector<Block> take() { return std::move(blocks_); }

 private:
  Status mixer(uint32_t layer, const model::SoftmaxAttention& attention) {
    AttentionBlock block{.attention = attention,
                         .norm = spec_.layers[layer].mixer_norm,
                         .norm_weight = {},
                         .q = {},
                         .k = {},
                         .v = {},
                         .o = {}};
    TRY(block.norm_weight, upload(Part::kMixerNorm, Slot::kWeight, layer));
    TRY(block.q, linear(Part::kQ, layer, attention.q_bias));
    TRY(block.k, linear(Part::kK, layer, attention.k_bias));
    TRY(block.v, linear(Part::kV, layer, attention.v_bias));
    TRY(block.o, linear(Part::kO, layer, attention.o_bias));
    blocks_.emplace_back(std::move(block));
    return absl::OkStatus();
  }

  Status feed_forward(uint32_t layer, const model::DenseFeedForward& dense) {
    FeedForwardBlock block{.feed_forward = dense,
                           .norm = spec_.layers[layer].feed_forward_norm,
                           .norm_weight = {},
                           .gate = {},
                           .up = {},
                           .down = {}};
    TRY(block.norm_weight, upload(Part::kFeedForwardNorm, Slot::kWeight, layer));
    TRY(block.gate, linear(Part::kGate, layer, dense.gate_bias));
    TRY(block.up, linear(Part::kUp, layer, dense.up_bias));
    TRY(block.down, linear(Part::kDown, layer, dense.down_bias));
    blocks_.emplace_back(std::move(block));
    return absl::OkStatus();
  }

  StatusOr<Linear> linear(Part part, uint32_t layer, bool has_bias) {
    Linear result;
    TRY(result.weight, upload(part, Slot::kWeight, layer));
    if (has_bias) {
      TRY(result.bias, upload(part, Slot::kBias, layer));
    }
    return result;
  }

  StatusOr<WeightHandle> upload(Part part, Slot slot, uint32_t layer) {
    TRY(const model::Weight* weight, weights_.weight({.part = part, .slot = slot, .layer = layer}));
    return device_.upload({.weight = weight, .first_row = 0, .rows = weight->rows});
  }

  const model::Spec& spec_;
  const model::WeightSource& weights_;
  Device& device_;
  std::optional<WeightHandle> embedding_;
  std::vector<Block> blocks_;
};

}  // namespace

StatusOr<std::vector<Block>> lower(const model::Spec& spec, const BlockRange& range, const model::WeightSource& weights,
                                   Device& device) {
  Lowering lowering(spec, weights, device);
  if (range.embedding) TRY(lowering.embedding());
  for (uint32_t index = range.first_half_layer; index < range.last_half_layer; ++index) TRY(lowering.half_layer(index));
  if (range.head) TRY(lowering.head());
  return lowering.take();
}

}  // namespace motley::exec
