#include <algorithm>
#include <array>
#include <cmath>

#include "arch/llama_internal.h"
#include "arch/rope_config.h"

namespace motley::arch::llama_family {
namespace {

constexpr std::array<std::string_view, 6> kInertKeys = {"general.*",  "tokenizer.*", "split.*",
                                                        "quantize.*", "imatrix.*",   "llama.tensor_data_layout"};

constexpr std::array kNeutralKeys = {NeutralKey{"expert_count", 0},
                                     NeutralKey{"expert_used_count", 0},
                                     NeutralKey{"embedding_scale", 1},
                                     NeutralKey{"residual_scale", 1},
                                     NeutralKey{"logit_scale", 1},
                                     NeutralKey{"attention.scale", 0},
                                     NeutralKey{"attn_logit_softcapping", 0},
                                     NeutralKey{"final_logit_softcapping", 0},
                                     NeutralKey{"attention.clamp_kqv", 0},
                                     NeutralKey{"attention.layer_norm_epsilon", 0},
                                     NeutralKey{"attention.causal", 1},
                                     NeutralKey{"rope.scaling.yarn_*", 0},
                                     NeutralKey{"rope.scaling.attn_factor", 1},
                                     NeutralKey{"use_parallel_residual", 0}};

// A number for all layers, or a list that says the same for each.
StatusOr<std::optional<uint32_t>> same_for_all_layers(ConfigReader& config, std::string_view key, uint32_t layers) {
  const Json* found = config.value(key);
  const Json::Array* list = found == nullptr ? nullptr : found->as_array();
  if (list == nullptr) return config.count(key);
  const bool equal =
      list->size() == layers && !list->empty() && std::all_of(list->begin(), list->end(), [&](const Json& item) {
        return item.as_uint().has_value() && item.as_uint() == list->front().as_uint();
      });
  REJECT_IF(!equal, "llama.per_layer", config.where(key), fmt::format("the same number for each of {} layers", layers),
            "another list");
  return static_cast<uint32_t>(list->empty() ? 0 : list->front().as_uint().value_or(0));
}

StatusOr<uint32_t> read_vocabulary(ConfigReader& config, const Catalogue& tensors) {
  TRY(const auto given, config.count("vocab_size"));
  const auto* embedding = tensors.shape("token_embd.weight");
  const uint64_t rows = embedding == nullptr || embedding->empty() ? 0 : embedding->front();
  REJECT_IF(given && embedding != nullptr && *given != rows, "llama.gguf_vocabulary", config.where("vocab_size"),
            fmt::format("{}, the rows of token_embd.weight", rows), *given);
  // Without the tensor, loading ends with its name a little later.
  return given.value_or(static_cast<uint32_t>(std::min<uint64_t>(rows, UINT32_MAX)));
}

StatusOr<uint32_t> read_head_dim(ConfigReader& config, const Shape& shape) {
  TRY(const auto key_length, config.count("attention.key_length"));
  TRY(const auto value_length, config.count("attention.value_length"));
  REJECT_IF(!key_length && (shape.heads == 0 || shape.hidden % shape.heads != 0), "llama.gguf_hidden_by_heads",
            config.where("embedding_length"),
            fmt::format("a multiple of {} heads, or attention.key_length", shape.heads), shape.hidden);
  const uint32_t head_dim = key_length.value_or(shape.heads == 0 ? 0 : shape.hidden / shape.heads);
  REJECT_IF(value_length.value_or(head_dim) != head_dim, "llama.value_length", config.where("attention.value_length"),
            fmt::format("the key length {}", head_dim), value_length.value_or(0));
  return head_dim;
}

StatusOr<Shape> read_shape(ConfigReader& config, const Catalogue& tensors) {
  Shape shape;
  TRY(shape.hidden, config.required_count("embedding_length"));
  TRY(shape.layers, config.required_count("block_count"));
  TRY(shape.context_tokens, config.required_count("context_length"));
  TRY(const auto heads, same_for_all_layers(config, "attention.head_count", shape.layers));
  REJECT_IF(!heads, "llama.gguf_heads", config.where("attention.head_count"), "a number of heads", "no such key");
  shape.heads = heads.value_or(0);
  TRY(const auto kv_heads, same_for_all_layers(config, "attention.head_count_kv", shape.layers));
  shape.kv_heads = kv_heads.value_or(shape.heads);
  TRY(const auto feed_forward, same_for_all_layers(config, "feed_forward_length", shape.layers));
  REJECT_IF(!feed_forward, "llama.gguf_feed_forward", config.where("feed_forward_length"), "a width", "no such key");
  shape.feed_forward = feed_forward.value_or(0);
  TRY(const double eps, config.required_number("attention.layer_norm_rms_epsilon"));
  shape.norm_eps = static_cast<float>(eps);
  TRY(shape.head_dim, read_head_dim(config, shape));
  TRY(shape.vocabulary, read_vocabulary(config, tensors));
  return shape;
}

// GGUF has no flags for biases: llama.cpp takes those that are there. Layer 0 speaks for all; a layer that differs is
// caught when its tensors are counted.
void read_biases(const Catalogue& tensors, model::Spec& spec) {
  const auto has = [&](std::string_view module) { return tensors.has(fmt::format("blk.0.{}.bias", module)); };
  for (model::Layer& layer : spec.layers) {
    auto& attention = std::get<model::SoftmaxAttention>(layer.mixer);
    attention.q_bias = has("attn_q");
    attention.k_bias = has("attn_k");
    attention.v_bias = has("attn_v");
    attention.o_bias = has("attn_output");
    auto& dense = std::get<model::DenseFeedForward>(layer.feed_forward);
    dense.gate_bias = has("ffn_gate");
    dense.up_bias = has("ffn_up");
    dense.down_bias = has("ffn_down");
  }
}

}  // namespace

StatusOr<Description> describe_gguf(const Metadata& metadata, const Catalogue& tensors) {
  ConfigReader config(metadata.tree, metadata.file, "llama.");
  TRY(const Shape shape, read_shape(config, tensors));
  TRY(check_shape(shape, metadata.file));
  std::vector<std::string> used;
  TRY(const model::Rope rope,
      rope_from_gguf(config, {.head_dim = shape.head_dim, .context_tokens = shape.context_tokens}, tensors, used));
  Description result{.spec = make_spec(shape, rope), .used_tensors = std::move(used), .notes = {}};
  read_biases(tensors, result.spec);
  TRY(const auto window, config.count("attention.sliding_window"));
  if (window.value_or(0) != 0)
    for (model::Layer& layer : result.spec.layers) std::get<model::SoftmaxAttention>(layer.mixer).window = window;
  result.spec.head.tied = !tensors.has("output.weight");
  TRY(config.account_for_rest({.inert = kInertKeys, .neutral = kNeutralKeys}, result.notes));
  return result;
}

}  // namespace motley::arch::llama_family
