// params.json, as Meta and Mistral publish it: what it leaves out comes from the tensors, and from config.json where
// that lies beside.
#include <algorithm>
#include <array>

#include "arch/llama_internal.h"
#include "arch/rope_config.h"

namespace motley::arch::llama_family {
namespace {

constexpr double kDefaultTheta = 10000;           // llama/model.py, precompute_freqs_cis
constexpr uint32_t kDefaultContextTokens = 2048;  // ModelArgs.max_seq_len there
// llama_models/llama3/reference_impl/model.py, apply_scaling: constants, whatever the model.
constexpr model::RopeLlama3 kScaledRope = {
    .factor = 8, .low_freq_factor = 1, .high_freq_factor = 4, .original_context = 8192};

constexpr std::string_view kConfig = "config.json";
constexpr std::string_view kEmbedding = "tok_embeddings.weight", kGate = "layers.0.feed_forward.w1.weight";

// The width follows from multiple_of and ffn_dim_multiplier; the tensors show it without a formula.
constexpr std::array<std::string_view, 5> kInertKeys = {"multiple_of", "ffn_dim_multiplier", "max_batch_size",
                                                        "model_parallel_size", "vision_chunk_size"};
constexpr std::array kNeutralKeys = {
    NeutralKey{"quantization_args", 0}, NeutralKey{"lora_args", 0},  NeutralKey{"moe", 0},
    NeutralKey{"moe_args", 0},          NeutralKey{"use_biases", 0}, NeutralKey{"use_qk_norm", 0}};

StatusOr<uint32_t> rows_of(const Catalogue& tensors, std::string_view name, std::string_view file) {
  const auto* shape = tensors.shape(name);
  const bool matrix = shape != nullptr && shape->size() == 2 && shape->front() <= INT32_MAX;
  REJECT_IF(!matrix, "llama.meta_matrix", file, fmt::format("a matrix {}", name),
            shape == nullptr ? "none" : "another");
  return matrix ? static_cast<uint32_t>(shape->front()) : 0;
}

// -1 stands for "as many as the tokenizer has".
Status check_vocabulary(ConfigReader& config, uint32_t rows) {
  const Json* value = config.value("vocab_size");
  const auto given = value == nullptr ? std::nullopt : value->as_int();
  REJECT_IF(value != nullptr && given != -1 && given != rows, "llama.meta_vocabulary", config.where("vocab_size"),
            fmt::format("{}, the rows of {}, or -1", rows, kEmbedding), value->dump());
  return absl::OkStatus();
}

StatusOr<Shape> read_shape(ConfigReader& config, const Metadata& metadata, const Catalogue& tensors) {
  Shape shape;
  TRY(shape.hidden, config.required_count("dim"));
  TRY(shape.layers, config.required_count("n_layers"));
  TRY(shape.heads, config.required_count("n_heads"));
  TRY(const auto kv_heads, config.count("n_kv_heads"));
  TRY(const auto head_dim, config.count("head_dim"));
  TRY(const auto feed_forward, config.count("hidden_dim"));
  TRY(const double eps, config.required_number("norm_eps"));
  shape.kv_heads = kv_heads.value_or(shape.heads);
  shape.norm_eps = static_cast<float>(eps);
  REJECT_IF(!head_dim && (shape.heads == 0 || shape.hidden % shape.heads != 0), "llama.meta_dim_by_heads",
            config.where("dim"), fmt::format("a multiple of {} heads", shape.heads), shape.hidden);
  shape.head_dim = head_dim.value_or(shape.heads == 0 ? 0 : shape.hidden / shape.heads);
  TRY(shape.vocabulary, rows_of(tensors, kEmbedding, metadata.file));
  TRY(check_vocabulary(config, shape.vocabulary));
  TRY(shape.feed_forward, rows_of(tensors, kGate, metadata.file));
  REJECT_IF(feed_forward && *feed_forward != shape.feed_forward, "llama.meta_hidden_dim", config.where("hidden_dim"),
            fmt::format("{}, the rows of {}", shape.feed_forward, kGate), *feed_forward);
  return shape;
}

// config.json knows the context, and the factor where it is not 8 (Llama 3.2).
Status read_config_beside(const Json& tree, const Shape& shape, const Metadata& metadata, Description& out) {
  ConfigReader config(text_tree(tree), fmt::format("{} (for {})", kConfig, metadata.file));
  TRY(const auto context, config.count("max_position_embeddings"));
  if (context) out.spec.context_tokens = *context;
  TRY(const model::Rope beside,
      rope_from_hugging_face(config, {.head_dim = shape.head_dim, .context_tokens = out.spec.context_tokens}));
  for (model::Layer& layer : out.spec.layers) {
    model::Rope& rope = *std::get<model::SoftmaxAttention>(layer.mixer).rope;
    REJECT_IF(rope.theta != beside.theta, "llama.meta_two_thetas", config.where("rope_theta"),
              fmt::format("{} as in {}", rope.theta, metadata.file), beside.theta);
    rope.scaling = beside.scaling;
  }
  return absl::OkStatus();
}

}  // namespace

StatusOr<Description> describe_meta(const Metadata& metadata, const Catalogue& tensors) {
  ConfigReader config(metadata.tree, metadata.file);
  TRY(Shape shape, read_shape(config, metadata, tensors));
  TRY(check_shape(shape, metadata.file));
  TRY(const auto theta, config.number("rope_theta"));
  TRY(const auto scaled, config.flag("use_scaled_rope"));
  TRY(const auto window, config.count("sliding_window"));
  TRY(const auto context, config.count("max_seq_len"));
  shape.context_tokens = context.value_or(kDefaultContextTokens);
  model::Rope rope{.theta = theta.value_or(kDefaultTheta),
                   .rotary_dims = shape.head_dim,
                   .pairs = model::RopePairs::kInterleaved,
                   .scaling = {}};
  if (scaled.value_or(false)) rope.scaling = kScaledRope;
  Description result{.spec = make_spec(shape, rope), .used_tensors = {}, .notes = {}};
  for (model::Layer& layer : result.spec.layers) std::get<model::SoftmaxAttention>(layer.mixer).window = window;
  result.spec.head.tied = !tensors.has("output.weight");
  if (const Json* beside = config.value(kConfig)) {
    TRY(read_config_beside(*beside, shape, metadata, result));
  } else if (!context) {
    result.notes.push_back(
        fmt::format("params.json names no context: {}, the default of Meta's code", kDefaultContextTokens));
  }
  TRY(config.account_for_rest({.inert = kInertKeys, .neutral = kNeutralKeys}, result.notes));
  return result;
}

}  // namespace motley::arch::llama_family
