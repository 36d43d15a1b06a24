#include "convert/hugging_face_config.h"

#include <algorithm>

#include "convert/spec_limits.h"

namespace motley::convert {
namespace {

Status check_biases(const LlamaShape& shape, std::string_view target) {
  const auto& a = shape.attention;
  const bool attention_even = a.q_bias == a.k_bias && a.k_bias == a.v_bias && a.v_bias == a.o_bias;
  const auto& f = shape.feed_forward;
  const bool feed_forward_even = f.gate_bias == f.up_bias && f.up_bias == f.down_bias;
  REJECT_IF(!attention_even || !feed_forward_even, "convert.partial_biases", target,
            "biases on all projections of a block or on none", "on some");
  REJECT_IF((a.q_bias || f.gate_bias) && shape.window, "convert.window_biases", target,
            "no biases beside a window (MistralConfig has no key for them)", "both");
  return absl::OkStatus();
}

struct ScalingJson {
  const model::Rope& rope;
  std::string_view target;

  StatusOr<Json> operator()(const model::RopeUnscaled& /*none*/) const { return Json(); }
  StatusOr<Json> operator()(const model::RopeLinear& linear) const {
    return Json(Json::Object{{"rope_type", "linear"}, {"factor", linear.factor}});
  }
  StatusOr<Json> operator()(const model::RopeLlama3& llama3) const {
    return Json(Json::Object{{"rope_type", "llama3"},
                             {"factor", llama3.factor},
                             {"low_freq_factor", llama3.low_freq_factor},
                             {"high_freq_factor", llama3.high_freq_factor},
                             {"original_max_position_embeddings", llama3.original_context}});
  }
  StatusOr<Json> operator()(const model::RopeYarn& yarn) const {
    return Json(Json::Object{{"rope_type", "yarn"},
                             {"factor", yarn.factor},
                             {"beta_fast", yarn.beta_fast},
                             {"beta_slow", yarn.beta_slow},
                             {"attention_factor", yarn.attention_factor},
                             {"original_max_position_embeddings", yarn.original_context},
                             {"truncate", yarn.truncate}});
  }
  StatusOr<Json> operator()(const model::RopeDivisors& /*divisors*/) const {
    const auto llama3 = llama3_of_divisors(rope);
    REJECT_IF(!llama3, "convert.divisors", target, "frequencies that a published Llama 3 scaling gives",
              "divisors of another kind (rope_freqs.weight)");
    return (*this)(llama3.value_or(model::RopeLlama3{}));
  }
};

void set_window(const LlamaShape& shape, Json& config) {
  const bool everywhere = std::find(shape.windowed.begin(), shape.windowed.end(), false) == shape.windowed.end();
  config.set("sliding_window", *shape.window);
  if (everywhere) return;
  Json::Array types;
  for (const bool windowed : shape.windowed) types.emplace_back(windowed ? "sliding_attention" : "full_attention");
  config.set("layer_types", Json(std::move(types)));
}

void set_sizes(const model::Spec& spec, const LlamaShape& shape, Json& config) {
  config.set("hidden_size", spec.hidden);
  config.set("intermediate_size", shape.feed_forward.width);
  config.set("num_hidden_layers", spec.layers.size());
  config.set("num_attention_heads", shape.attention.heads);
  config.set("num_key_value_heads", shape.attention.kv_heads);
  config.set("head_dim", shape.attention.head_dim);
  config.set("max_position_embeddings", spec.context_tokens);
  config.set("vocab_size", spec.vocabulary);
  config.set("rms_norm_eps", shortest(shape.norm_eps));
  config.set("hidden_act", "silu");
  config.set("tie_word_embeddings", spec.head.tied);
}

}  // namespace

std::string_view torch_name(tensor::DType dtype) {
  if (dtype == tensor::DType::kF32) return "float32";
  return dtype == tensor::DType::kF16 ? "float16" : "bfloat16";
}

Json end_token_ids(const model::TextAssets& text) {
  Json::Array ids;
  for (const model::EndToken& end : text.end_tokens) ids.emplace_back(end.id);
  if (ids.empty()) return {};
  return ids.size() == 1 ? ids.front() : Json(std::move(ids));
}

StatusOr<Json> hugging_face_config(const model::Model& model, std::string_view dtype, std::string_view target) {
  TRY(const LlamaShape shape, llama_shape(model.spec, target));
  TRY(check_biases(shape, target));
  // Mistral: a window in every layer. Llama with layer_types: in some.
  const bool mistral =
      shape.window && std::find(shape.windowed.begin(), shape.windowed.end(), false) == shape.windowed.end();
  Json config;
  config.set("architectures", Json::Array{mistral ? "MistralForCausalLM" : "LlamaForCausalLM"});
  config.set("model_type", mistral ? "mistral" : "llama");
  set_sizes(model.spec, shape, config);
  config.set("rope_theta", shape.attention.rope->theta);
  TRY(Json scaling, std::visit(ScalingJson{*shape.attention.rope, target}, shape.attention.rope->scaling));
  config.set("rope_scaling", std::move(scaling));
  if (shape.window) set_window(shape, config);
  if (!mistral) {
    config.set("attention_bias", shape.attention.q_bias);
    config.set("mlp_bias", shape.feed_forward.gate_bias);
  }
  if (model.text.bos_id) config.set("bos_token_id", *model.text.bos_id);
  if (!model.text.end_tokens.empty()) config.set("eos_token_id", end_token_ids(model.text));
  config.set("torch_dtype", dtype);
  config.set("use_cache", true);
  return config;
}

}  // namespace motley::convert
