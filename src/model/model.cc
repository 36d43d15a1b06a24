#include "model/model.h"

namespace motley::model {
namespace {

std::string_view part_name(Part part) {
  switch (part) {
    case Part::kEmbedding:
      return "embedding";
    case Part::kFinalNorm:
      return "final norm";
    case Part::kHead:
      return "head";
    case Part::kMixerNorm:
      return "attention norm";
    case Part::kQ:
      return "attention Q";
    case Part::kK:
      return "attention K";
    case Part::kV:
      return "attention V";
    case Part::kO:
      return "attention output";
    case Part::kFeedForwardNorm:
      return "feed-forward norm";
    case Part::kGate:
      return "feed-forward gate";
    case Part::kUp:
      return "feed-forward up";
    case Part::kDown:
      return "feed-forward down";
  }
  return "";
}

bool inside_layer(Part part) { return part != Part::kEmbedding && part != Part::kFinalNorm && part != Part::kHead; }

// Collects one layer's weights; a bias is a vector of the matrix's N.
class Collector {
 public:
  explicit Collector(std::vector<RequiredWeight>& out) : out_(out) {}
  void in_layer(uint32_t layer) { layer_ = layer; }

  void vector(Part part, uint64_t size) { add(part, Slot::kWeight, 1, size); }
  void matrix(Part part, uint64_t rows, uint64_t cols) { add(part, Slot::kWeight, rows, cols); }
  void bias(bool present, Part part, uint64_t rows) {
    if (present) add(part, Slot::kBias, 1, rows);
  }

 private:
  void add(Part part, Slot slot, uint64_t rows, uint64_t cols) {
    out_.push_back(
        {.role = {.part = part, .slot = slot, .layer = inside_layer(part) ? layer_ : 0}, .rows = rows, .cols = cols});
  }

  std::vector<RequiredWeight>& out_;
  uint32_t layer_ = 0;
};

void collect(Collector& out, const SoftmaxAttention& attention, uint64_t hidden) {
  const uint64_t q_rows = uint64_t{attention.heads} * attention.head_dim;
  const uint64_t kv_rows = uint64_t{attention.kv_heads} * attention.head_dim;
  out.vector(Part::kMixerNorm, hidden);
  out.matrix(Part::kQ, q_rows, hidden);
  out.bias(attention.q_bias, Part::kQ, q_rows);
  out.matrix(Part::kK, kv_rows, hidden);
  out.bias(attention.k_bias, Part::kK, kv_rows);
  out.matrix(Part::kV, kv_rows, hidden);
  out.bias(attention.v_bias, Part::kV, kv_rows);
  out.matrix(Part::kO, hidden, q_rows);
  out.bias(attention.o_bias, Part::kO, hidden);
}

void collect(Collector& out, const DenseFeedForward& dense, uint64_t hidden) {
  out.vector(Part::kFeedForwardNorm, hidden);
  out.matrix(Part::kGate, dense.width, hidden);
  out.bias(dense.gate_bias, Part::kGate, dense.width);
  out.matrix(Part::kUp, dense.width, hidden);
  out.bias(dense.up_bias, Part::kUp, dense.width);
  out.matrix(Part::kDown, hidden, dense.width);
  out.bias(dense.down_bias, Part::kDown, hidden);
}

}  // namespace

std::string describe(const Role& role) {
  const std::string_view slot = role.slot == Slot::kBias ? "bias" : "weight";
  if (!inside_layer(role.part)) return fmt::format("{} {}", part_name(role.part), slot);
  return fmt::format("layer {} {} {}", role.layer, part_name(role.part), slot);
}

uint64_t Weight::stored_bytes() const {
  uint64_t bytes = codes.range.size_bytes;
  for (const auto* piece : {&scales, &offsets, &outer_scales, &scale_table})
    if (*piece) bytes += (*piece)->range.size_bytes;
  if (input_order) bytes += input_order->size() * sizeof(uint32_t);
  return bytes;
}

std::vector<RequiredWeight> required_weights(const Spec& spec) {
  std::vector<RequiredWeight> result;
  Collector out(result);
  out.matrix(Part::kEmbedding, spec.vocabulary, spec.hidden);
  for (uint32_t layer = 0; layer < spec.layers.size(); ++layer) {
    out.in_layer(layer);
    std::visit([&](const auto& mixer) { collect(out, mixer, spec.hidden); }, spec.layers[layer].mixer);
    std::visit([&](const auto& feed_forward) { collect(out, feed_forward, spec.hidden); },
               spec.layers[layer].feed_forward);
  }
  out.vector(Part::kFinalNorm, spec.hidden);
  if (!spec.head.tied) out.matrix(Part::kHead, spec.vocabulary, spec.hidden);
  out.bias(spec.head.bias, Part::kHead, spec.vocabulary);
  return result;
}

StatusOr<const Weight*> ModelWeights::weight(const Role& role) const {
  const auto found = model_->weights.find(role);
  if (found == model_->weights.end()) return absl::NotFoundError(fmt::format("no {} in this model", describe(role)));
  return &found->second;
}

}  // namespace motley::model
