// The Llama family: pre-norm layers of rotary grouped-query attention and a gated SiLU feed-forward. Llama 1 to 3,
// Mistral, SmolLM2, TinyLlama, TinyStories and everything else that is published under these names.
#include <algorithm>
#include <array>
#include <cmath>

#include "arch/llama_internal.h"
#include "arch/rope_config.h"

namespace motley::arch {
namespace {

using llama_family::Shape;
using model::Part;

// How each source calls each module; {} is the layer. Hugging Face and MLX names without their wrappers
// (canonical_name).
struct NameRow {
  Part part;
  std::string_view hugging_face, gguf, llama2c, meta;
};
constexpr std::array kNames = {
    NameRow{Part::kEmbedding, "embed_tokens", "token_embd", "tok_emb", "tok_embeddings"},
    NameRow{Part::kFinalNorm, "norm", "output_norm", "rms_final", "norm"},
    NameRow{Part::kHead, "lm_head", "output", "wcls", "output"},
    NameRow{Part::kMixerNorm, "layers.{}.input_layernorm", "blk.{}.attn_norm", "rms_att.{}",
            "layers.{}.attention_norm"},
    NameRow{Part::kQ, "layers.{}.self_attn.q_proj", "blk.{}.attn_q", "wq.{}", "layers.{}.attention.wq"},
    NameRow{Part::kK, "layers.{}.self_attn.k_proj", "blk.{}.attn_k", "wk.{}", "layers.{}.attention.wk"},
    NameRow{Part::kV, "layers.{}.self_attn.v_proj", "blk.{}.attn_v", "wv.{}", "layers.{}.attention.wv"},
    NameRow{Part::kO, "layers.{}.self_attn.o_proj", "blk.{}.attn_output", "wo.{}", "layers.{}.attention.wo"},
    NameRow{Part::kFeedForwardNorm, "layers.{}.post_attention_layernorm", "blk.{}.ffn_norm", "rms_ffn.{}",
            "layers.{}.ffn_norm"},
    NameRow{Part::kGate, "layers.{}.mlp.gate_proj", "blk.{}.ffn_gate", "w1.{}", "layers.{}.feed_forward.w1"},
    NameRow{Part::kUp, "layers.{}.mlp.up_proj", "blk.{}.ffn_up", "w3.{}", "layers.{}.feed_forward.w3"},
    NameRow{Part::kDown, "layers.{}.mlp.down_proj", "blk.{}.ffn_down", "w2.{}", "layers.{}.feed_forward.w2"},
};

// Top-level groups are those that mlx-lm and mlx-vlm leave out when they run the text network alone.
constexpr std::array kIgnored = {
    IgnoreRule{"*.rotary_emb.inv_freq", "computed from rope_theta"},
    IgnoreRule{"freq_cis_*", "computed from rope_theta"},
    IgnoreRule{"rope.freqs", "computed from rope_theta"},
    IgnoreRule{"vision_tower.*", "image input is not used"},
    IgnoreRule{"vision_model.*", "image input is not used"},
    IgnoreRule{"visual.*", "image input is not used"},
    IgnoreRule{"embed_vision.*", "image input is not used"},
    IgnoreRule{"multi_modal_projector.*", "image input is not used"},
    IgnoreRule{"image_newline", "image input is not used"},
    IgnoreRule{"audio_tower.*", "audio input is not used"},
    IgnoreRule{"embed_audio.*", "audio input is not used"},
    IgnoreRule{"v.*", "image input is not used"},  // GGUF files that hold their projector too
    IgnoreRule{"mm.*", "image input is not used"},
};
constexpr std::array kIgnoredWhenTied = {IgnoreRule{"lm_head.*", "the head is tied to the embedding"}};

// Families of one architecture, in the words of config.json. Everything that sets others apart has a key, and is read.
constexpr std::array<std::string_view, 2> kModelTypes = {"llama", "mistral"};

bool matches(const Metadata& metadata) {
  if (metadata.dialect == Dialect::kLlama2c || metadata.dialect == Dialect::kMeta) return true;
  const bool gguf = metadata.dialect == Dialect::kGguf;
  const Json& tree = gguf ? metadata.tree : llama_family::text_tree(metadata.tree);
  const Json* name = tree.find_value(gguf ? "general.architecture" : "model_type");
  const std::string* text = name == nullptr ? nullptr : name->as_string();
  if (text == nullptr) return false;
  return gguf ? *text == "llama" : std::find(kModelTypes.begin(), kModelTypes.end(), *text) != kModelTypes.end();
}

// The constants that llama2.c compiles in (run.c: rope base, rmsnorm, and pairs 2i and 2i+1).
constexpr double kLlama2cTheta = 10000;
constexpr float kLlama2cEps = 1e-5f;

StatusOr<Description> describe_llama2c(const Metadata& metadata, const Catalogue& tensors) {
  ConfigReader config(metadata.tree, metadata.file);
  Shape shape{.norm_eps = kLlama2cEps};
  TRY(shape.hidden, config.required_count("dim"));
  TRY(shape.feed_forward, config.required_count("hidden_dim"));
  TRY(shape.layers, config.required_count("n_layers"));
  TRY(shape.heads, config.required_count("n_heads"));
  TRY(shape.kv_heads, config.required_count("n_kv_heads"));
  TRY(shape.vocabulary, config.required_count("vocab_size"));
  TRY(shape.context_tokens, config.required_count("seq_len"));
  shape.head_dim = shape.heads == 0 ? 0 : shape.hidden / shape.heads;
  TRY(llama_family::check_shape(shape, metadata.file));
  const model::Rope rope{
      .theta = kLlama2cTheta, .rotary_dims = shape.head_dim, .pairs = model::RopePairs::kInterleaved, .scaling = {}};
  Description result{.spec = llama_family::make_spec(shape, rope), .used_tensors = {}, .notes = {}};
  result.spec.head.tied = !tensors.has("wcls.weight");
  result.notes.emplace_back("this container holds no rope_theta and no norm_eps: 10000 and 1e-5, as llama2.c has them");
  return result;
}

StatusOr<Description> describe(const Metadata& metadata, const Catalogue& tensors) {
  switch (metadata.dialect) {
    case Dialect::kHuggingFace:
      return llama_family::describe_hugging_face(metadata, tensors);
    case Dialect::kGguf:
      return llama_family::describe_gguf(metadata, tensors);
    case Dialect::kMeta:
      return llama_family::describe_meta(metadata, tensors);
    case Dialect::kLlama2c:
      break;
  }
  return describe_llama2c(metadata, tensors);
}

std::string_view name_in(const NameRow& row, Dialect dialect) {
  switch (dialect) {
    case Dialect::kHuggingFace:
      return row.hugging_face;
    case Dialect::kGguf:
      return row.gguf;
    case Dialect::kMeta:
      return row.meta;
    case Dialect::kLlama2c:
      break;
  }
  return row.llama2c;
}

std::string module_name(Dialect dialect, const model::Role& role) {
  const auto row = std::find_if(kNames.begin(), kNames.end(), [&](const NameRow& r) { return r.part == role.part; });
  if (row == kNames.end()) return "";
  const std::string_view pattern = name_in(*row, dialect);
  const size_t hole = pattern.find("{}");
  if (hole == std::string_view::npos) return std::string(pattern);
  return fmt::format("{}{}{}", pattern.substr(0, hole), role.layer, pattern.substr(hole + 2));
}

}  // namespace

Architecture llama() {
  return {.name = "llama",
          .matches = matches,
          .describe = describe,
          .module_name = module_name,
          .ignored = kIgnored,
          .ignored_when_tied = kIgnoredWhenTied};
}

namespace llama_family {

// model::check() has tighter limits; this one only keeps the spec's own vectors small before it can run.
constexpr uint32_t kMostLayers = 4096;

Status check_shape(const Shape& shape, std::string_view file) {
  REJECT_IF(shape.layers > kMostLayers, "llama.layers", file, fmt::format("at most {} layers", kMostLayers),
            shape.layers);
  REJECT_IF(shape.heads == 0 || shape.head_dim == 0, "llama.head_dim", file,
            "at least one head of at least one dimension", fmt::format("{} heads of {}", shape.heads, shape.head_dim));
  return absl::OkStatus();
}

model::Spec make_spec(const Shape& shape, const model::Rope& rope) {
  const model::Norm norm{.eps = shape.norm_eps, .weight_offset = 0};
  model::SoftmaxAttention attention{.heads = shape.heads,
                                    .kv_heads = shape.kv_heads,
                                    .head_dim = shape.head_dim,
                                    .scale = 1 / std::sqrt(static_cast<float>(shape.head_dim)),
                                    .window = std::nullopt,
                                    .rope = rope};
  attention.q_bias = attention.k_bias = attention.v_bias = attention.o_bias = shape.attention_bias;
  model::DenseFeedForward dense{.width = shape.feed_forward};
  dense.gate_bias = dense.up_bias = dense.down_bias = shape.mlp_bias;
  model::Spec spec;
  spec.hidden = shape.hidden;
  spec.vocabulary = shape.vocabulary;
  spec.context_tokens = shape.context_tokens;
  spec.layers.assign(shape.layers, {norm, attention, norm, dense});
  spec.final_norm = norm;
  return spec;
}

}  // namespace llama_family
}  // namespace motley::arch
