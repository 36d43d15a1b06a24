#include "model/spec.h"

namespace motley::model {
namespace {

struct ScalingJson {
  Json operator()(const RopeUnscaled&) const { return nullptr; }
  Json operator()(const RopeLinear& linear) const {
    return Json::Object{{"kind", "linear"}, {"factor", linear.factor}};
  }
  Json operator()(const RopeLlama3& llama3) const {
    return Json::Object{{"kind", "llama3"},
                        {"factor", llama3.factor},
                        {"low_freq_factor", llama3.low_freq_factor},
                        {"high_freq_factor", llama3.high_freq_factor},
                        {"original_context", llama3.original_context}};
  }
  Json operator()(const RopeYarn& yarn) const {
    return Json::Object{{"kind", "yarn"},
                        {"factor", yarn.factor},
                        {"beta_fast", yarn.beta_fast},
                        {"beta_slow", yarn.beta_slow},
                        {"attention_factor", yarn.attention_factor},
                        {"original_context", yarn.original_context},
                        {"truncate", yarn.truncate}};
  }
  Json operator()(const RopeDivisors& table) const {
    return Json::Object{{"kind", "divisors"}, {"count", table.divisors.size()}};
  }
};

Json optional_json(const std::optional<uint32_t>& value) { return value ? Json(*value) : Json(); }

Json rope_json(const std::optional<Rope>& rope) {
  if (!rope) return nullptr;
  return Json::Object{{"theta", rope->theta},
                      {"rotary_dims", rope->rotary_dims},
                      {"pairs", rope->pairs == RopePairs::kInterleaved ? "interleaved" : "half-split"},
                      {"scaling", std::visit(ScalingJson{}, rope->scaling)}};
}

Json mixer_json(const SoftmaxAttention& attention) {
  Json::Array biased;
  for (const auto& [flag, name] : {std::pair{attention.q_bias, "q"}, std::pair{attention.k_bias, "k"},
                                   std::pair{attention.v_bias, "v"}, std::pair{attention.o_bias, "o"}})
    if (flag) biased.emplace_back(name);
  return Json::Object{{"kind", "softmax attention"},    {"heads", attention.heads},
                      {"kv_heads", attention.kv_heads}, {"head_dim", attention.head_dim},
                      {"scale", attention.scale},       {"window", optional_json(attention.window)},
                      {"biases", std::move(biased)},    {"rope", rope_json(attention.rope)}};
}

Json feed_forward_json(const DenseFeedForward& dense) {
  return Json::Object{{"kind", "dense"},
                      {"width", dense.width},
                      {"activation", "silu"},
                      {"biases", dense.gate_bias || dense.up_bias || dense.down_bias}};
}

Json layer_json(const Layer& layer) {
  return Json::Object{{"norm_eps", layer.mixer_norm.eps},
                      {"mixer", mixer_json(std::get<SoftmaxAttention>(layer.mixer))},
                      {"feed_forward", feed_forward_json(std::get<DenseFeedForward>(layer.feed_forward))}};
}

}  // namespace

Json to_json(const Spec& spec) {
  // Runs of equal layers are written once, as people think of them.
  Json::Array groups;
  for (size_t first = 0; first < spec.layers.size();) {
    size_t last = first;
    while (last + 1 < spec.layers.size() && spec.layers[last + 1] == spec.layers[first]) ++last;
    Json group = layer_json(spec.layers[first]);
    group.set("first_layer", first);
    group.set("last_layer", last);
    groups.push_back(std::move(group));
    first = last + 1;
  }
  return Json::Object{{"hidden", spec.hidden},
                      {"vocabulary", spec.vocabulary},
                      {"context_tokens", spec.context_tokens},
                      {"layer_count", spec.layers.size()},
                      {"layers", std::move(groups)},
                      {"final_norm_eps", spec.final_norm.eps},
                      {"tied_head", spec.head.tied}};
}

}  // namespace motley::model
