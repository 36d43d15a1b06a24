#include <algorithm>
#include <array>
#include <cmath>

#include "arch/llama_internal.h"
#include "arch/rope_config.h"

namespace motley::arch::llama_family {
namespace {

constexpr uint32_t kMistralDefaultWindow = 4096;  // MistralConfig, when the key is absent
constexpr uint32_t kMistralDefaultKvHeads = 8;    // likewise

// Keys that say nothing about what is computed: bookkeeping, training, generation defaults, text, and storage (which is
// read elsewhere). From transformers' PretrainedConfig and the habits of publishers.
constexpr auto kInertKeys = std::to_array<std::string_view>(
    {// bookkeeping
     "architectures", "model_type", "transformers_version", "torch_dtype", "dtype", "auto_map", "_name_or_path",
     "name_or_path", "_attn_implementation*", "attn_implementation", "_commit_hash", "library_name", "unsloth_*",
     "mlx_lm_version", "is_encoder_decoder", "id2label", "label2id", "problem_type", "finetuning_task",
     "task_specific_params", "num_labels", "model_name", "tokenizer_class", "use_flash_attention*",
     "_flash_attn_2_enabled", "use_fused_*", "torchscript", "tf_legacy_loss", "transformers_weights",
     // training
     "*dropout*", "attn_pdrop", "resid_pdrop", "embd_pdrop", "initializer_range", "gradient_checkpointing", "use_cache",
     "pretraining_tp", "output_attentions", "output_hidden_states", "return_dict", "use_return_dict",
     "chunk_size_feed_forward", "pruned_heads", "z_loss*", "rms_norm_fused", "neftune_noise_alpha",
     // text and generation
     "bos_token_id", "eos_token_id", "pad_token_id", "unk_token_id", "sep_token_id", "decoder_start_token_id", "prefix",
     "suffix", "max_length", "min_length", "temperature", "top_k", "top_p", "typical_p", "num_beams", "num_beam_groups",
     "length_penalty", "diversity_penalty", "repetition_penalty", "num_return_sequences", "do_sample", "early_stopping",
     // storage, read by ingest
     "quantization", "quantization_config"});

constexpr std::array kNeutralKeys = {NeutralKey{"attention_multiplier", 0},
                                     NeutralKey{"embedding_multiplier", 1},
                                     NeutralKey{"residual_multiplier", 1},
                                     NeutralKey{"logits_scaling", 1},
                                     NeutralKey{"logit_scale", 1},
                                     NeutralKey{"final_logit_softcapping", 0},
                                     NeutralKey{"attn_logit_softcapping", 0},
                                     NeutralKey{"query_pre_attn_scalar", 0},
                                     NeutralKey{"scale_emb", 1},
                                     NeutralKey{"scale_depth", 1},
                                     NeutralKey{"use_qk_norm", 0},
                                     NeutralKey{"qk_layernorm", 0},
                                     NeutralKey{"num_local_experts", 1},
                                     NeutralKey{"num_experts", 1},
                                     NeutralKey{"n_routed_experts", 0},
                                     NeutralKey{"num_experts_per_tok", 1},
                                     NeutralKey{"partial_rotary_factor", 1},
                                     NeutralKey{"rope_interleaved", 0},
                                     NeutralKey{"no_rope_layers", 0},
                                     NeutralKey{"no_rope_layer_interval", 0},
                                     NeutralKey{"model_file", 0},
                                     NeutralKey{"is_decoder", 1},
                                     NeutralKey{"add_cross_attention", 0}};

Status check_activation(ConfigReader& config) {
  TRY(const auto activation, config.text("hidden_act"));
  REJECT_IF(activation && *activation != "silu" && *activation != "swish", "llama.activation",
            config.where("hidden_act"), "silu", fmt::format("\"{}\"", *activation));
  return absl::OkStatus();
}

StatusOr<uint32_t> read_kv_heads(ConfigReader& config, bool mistral, uint32_t heads) {
  TRY(const auto given, config.count("num_key_value_heads"));
  return given.value_or(mistral ? kMistralDefaultKvHeads : heads);
}

StatusOr<uint32_t> read_head_dim(ConfigReader& config, const Shape& shape) {
  TRY(const auto given, config.count("head_dim"));
  if (given) return *given;
  REJECT_IF(shape.heads == 0 || shape.hidden % shape.heads != 0, "llama.hidden_by_heads", config.where("hidden_size"),
            fmt::format("a multiple of {} heads, or a head_dim", shape.heads), shape.hidden);
  return shape.heads == 0 ? 0 : shape.hidden / shape.heads;
}

StatusOr<Shape> read_shape(ConfigReader& config, bool mistral) {
  Shape shape;
  TRY(shape.hidden, config.required_count("hidden_size"));
  TRY(shape.layers, config.required_count("num_hidden_layers"));
  TRY(shape.heads, config.required_count("num_attention_heads"));
  TRY(shape.kv_heads, read_kv_heads(config, mistral, shape.heads));
  TRY(shape.feed_forward, config.required_count("intermediate_size"));
  TRY(shape.vocabulary, config.required_count("vocab_size"));
  TRY(shape.context_tokens, config.required_count("max_position_embeddings"));
  TRY(const double eps, config.required_number("rms_norm_eps"));
  shape.norm_eps = static_cast<float>(eps);
  TRY(shape.head_dim, read_head_dim(config, shape));
  if (mistral) return shape;  // has no such keys: another value of them is caught as unread
  TRY(const auto attention_bias, config.flag("attention_bias"));
  TRY(const auto mlp_bias, config.flag("mlp_bias"));
  shape.attention_bias = attention_bias.value_or(false);
  shape.mlp_bias = mlp_bias.value_or(false);
  return shape;
}

// Which layers see a window: nullopt when the configuration does not list them.
StatusOr<std::optional<std::vector<bool>>> sliding_layers(ConfigReader& config, uint32_t layers) {
  const Json* types = config.value("layer_types");
  if (types == nullptr) return std::nullopt;
  const Json::Array* list = types->as_array();
  REJECT_IF(list == nullptr || list->size() != layers, "llama.layer_types", config.where("layer_types"),
            fmt::format("a list of {}", layers), list == nullptr ? 0 : list->size());
  std::vector<bool> sliding(layers, false);
  for (size_t i = 0; list != nullptr && i < list->size() && i < layers; ++i) {
    const std::string* name = (*list)[i].as_string();
    sliding[i] = name != nullptr && *name == "sliding_attention";
    REJECT_IF(name == nullptr || (!sliding[i] && *name != "full_attention" && *name != "attention"), "llama.layer_type",
              config.where("layer_types"), "full_attention or sliding_attention", (*list)[i].dump());
  }
  return sliding;
}

// Mistral: a window in every layer when there is one. Llama: only in the layers that layer_types names (mlx-lm,
// transformers 5).
Status read_window(ConfigReader& config, bool mistral, Description& out) {
  TRY(const auto given, config.count("sliding_window"));
  TRY(const auto use, config.flag("use_sliding_window"));
  config.value("max_window_layers");  // has a meaning only in other families
  TRY(const auto listed, sliding_layers(config, static_cast<uint32_t>(out.spec.layers.size())));
  std::optional<uint32_t> window = given;
  if (mistral && !config.has("sliding_window")) {
    window = kMistralDefaultWindow;
    out.notes.push_back(fmt::format("no key sliding_window: {}, the default of MistralConfig", kMistralDefaultWindow));
  }
  if (window && use == false) window.reset();
  if (window && !mistral && !listed) {
    out.notes.push_back(fmt::format("sliding_window {} is without effect in a llama without layer_types", *window));
    window.reset();
  }
  REJECT_IF(!window && listed && std::find(listed->begin(), listed->end(), true) != listed->end(),
            "llama.window_missing", config.where("sliding_window"), "a window for the sliding layers of layer_types",
            "none");
  if (!window) return absl::OkStatus();
  for (size_t i = 0; i < out.spec.layers.size(); ++i)
    if (!listed || (*listed)[i]) std::get<model::SoftmaxAttention>(out.spec.layers[i].mixer).window = window;
  return absl::OkStatus();
}

// The flag decides; without one, whether there is a head (docs/decisions/loading.md).
StatusOr<bool> read_tied(ConfigReader& config, const Metadata& metadata, const Catalogue& tensors) {
  TRY(const auto inner, config.flag("tie_word_embeddings"));
  if (inner) return *inner;
  ConfigReader outer(metadata.tree, metadata.file);
  TRY(const auto wrapper, outer.flag("tie_word_embeddings"));
  return wrapper.value_or(!tensors.has("lm_head.weight"));
}

}  // namespace

const Json& text_tree(const Json& config) {
  const Json* inner = config.find_value("text_config");
  return inner != nullptr && inner->as_object() != nullptr ? *inner : config;
}

StatusOr<Description> describe_hugging_face(const Metadata& metadata, const Catalogue& tensors) {
  const Json& tree = text_tree(metadata.tree);
  ConfigReader config(tree, metadata.file);
  TRY(const auto model_type, config.text("model_type"));
  const bool mistral = model_type == "mistral";
  TRY(check_activation(config));
  TRY(const Shape shape, read_shape(config, mistral));
  TRY(check_shape(shape, metadata.file));
  TRY(const model::Rope rope,
      rope_from_hugging_face(config, {.head_dim = shape.head_dim, .context_tokens = shape.context_tokens}));
  Description result{.spec = make_spec(shape, rope), .used_tensors = {}, .notes = {}};
  TRY(read_window(config, mistral, result));
  TRY(result.spec.head.tied, read_tied(config, metadata, tensors));
  TRY(config.account_for_rest({.inert = kInertKeys, .neutral = kNeutralKeys}, result.notes));
  return result;
}

}  // namespace motley::arch::llama_family
