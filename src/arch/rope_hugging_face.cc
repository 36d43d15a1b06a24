#include <array>
#include <cmath>

#include "arch/rope_config.h"

namespace motley::arch {
namespace {

constexpr double kDefaultTheta = 10000;  // LlamaConfig and MistralConfig

constexpr std::array<std::string_view, 0> kNoInertKeys = {};
constexpr std::array<NeutralKey, 1> kNeutralKeys = {NeutralKey{"partial_rotary_factor", 1}};

// transformers reads rope_type and falls back on type, mlx-lm the other way round; where both stand they must agree.
StatusOr<std::string> scaling_kind(ConfigReader& scaling) {
  TRY(const auto rope_type, scaling.text("rope_type"));
  TRY(const auto type, scaling.text("type"));
  REJECT_IF(rope_type && type && *rope_type != *type, "rope.two_types", scaling.where("rope_type"),
            fmt::format("the same as type, \"{}\"", *type), fmt::format("\"{}\"", *rope_type));
  return rope_type ? *rope_type : type.value_or("default");
}

StatusOr<model::RopeScaling> linear(ConfigReader& scaling) {
  TRY(const double factor, scaling.required_number("factor"));
  return model::RopeLinear{.factor = factor};
}

StatusOr<model::RopeScaling> llama3(ConfigReader& scaling) {
  model::RopeLlama3 result;
  TRY(result.factor, scaling.required_number("factor"));
  TRY(result.low_freq_factor, scaling.required_number("low_freq_factor"));
  TRY(result.high_freq_factor, scaling.required_number("high_freq_factor"));
  TRY(result.original_context, scaling.required_count("original_max_position_embeddings"));
  return result;
}

// The factor on Q and K that YaRN recommends: 0.1 ln(s) + 1 (arXiv 2309.00071, section 3.4).
double yarn_magnitude(double factor, double mscale) { return factor <= 1 ? 1 : 0.1 * mscale * std::log(factor) + 1; }

StatusOr<double> yarn_attention_factor(ConfigReader& scaling, double factor) {
  TRY(const auto given, scaling.number("attention_factor"));
  TRY(const auto mscale, scaling.number("mscale"));
  TRY(const auto mscale_all_dim, scaling.number("mscale_all_dim"));
  if (given) return *given;
  if (mscale.value_or(0) != 0 && mscale_all_dim.value_or(0) != 0)
    return yarn_magnitude(factor, *mscale) / yarn_magnitude(factor, *mscale_all_dim);
  return yarn_magnitude(factor, 1);
}

StatusOr<model::RopeScaling> yarn(ConfigReader& scaling, const RopeShape& shape) {
  model::RopeYarn result;
  TRY(result.factor, scaling.required_number("factor"));
  TRY(result.attention_factor, yarn_attention_factor(scaling, result.factor));
  TRY(const auto fast, scaling.number("beta_fast"));
  TRY(const auto slow, scaling.number("beta_slow"));
  TRY(const auto original, scaling.count("original_max_position_embeddings"));
  TRY(const auto truncate, scaling.flag("truncate"));
  result.beta_fast = fast.value_or(result.beta_fast);
  result.beta_slow = slow.value_or(result.beta_slow);
  result.original_context = original.value_or(shape.context_tokens);
  result.truncate = truncate.value_or(true);
  return result;
}

StatusOr<model::RopeScaling> scaling_of_kind(const std::string& kind, ConfigReader& scaling, const RopeShape& shape) {
  if (kind == "linear") return linear(scaling);
  if (kind == "llama3") return llama3(scaling);
  if (kind == "yarn") return yarn(scaling, shape);
  REJECT_IF(kind != "default", "rope.kind", scaling.where("rope_type"), "default, linear, llama3 or yarn",
            fmt::format("\"{}\"", kind));
  // transformers ignores a factor that stands beside "default"; someone wanted something, so say so.
  TRY(const auto factor, scaling.number("factor"));
  REJECT_IF(factor && *factor != 1, "rope.factor_without_kind", scaling.where("factor"),
            "no factor beside the RoPE type \"default\"", factor.value_or(0));
  return model::RopeUnscaled{};
}

// Reads one object of scaling keys to its last key.
StatusOr<model::RopeScaling> read_scaling(ConfigReader& scaling, const RopeShape& shape) {
  TRY(const std::string kind, scaling_kind(scaling));
  TRY(model::RopeScaling result, scaling_of_kind(kind, scaling, shape));
  std::vector<std::string> unknown;
  TRY(scaling.account_for_rest({.inert = kNoInertKeys, .neutral = kNeutralKeys}, unknown));
  REJECT_IF(!unknown.empty(), "rope.unread", scaling.where(""), "only keys of a known RoPE scaling", unknown.front());
  return result;
}

}  // namespace

StatusOr<model::Rope> rope_from_hugging_face(ConfigReader& config, const RopeShape& shape) {
  model::Rope rope;
  TRY(const auto outer_theta, config.number("rope_theta"));
  TRY(const auto traditional, config.flag("rope_traditional"));
  TRY(const auto outer_kind, config.text("rope_type"));  // AutoRound's MLX export has a stray one
  REJECT_IF(outer_kind && *outer_kind != "default", "rope.outer_kind", config.where("rope_type"),
            "default, where it does not stand in rope_parameters", fmt::format("\"{}\"", *outer_kind));
  const Json* parameters = config.value("rope_parameters");
  const Json* scaling = config.value("rope_scaling");
  const Json* chosen = parameters != nullptr ? parameters : scaling;
  rope.theta = outer_theta.value_or(kDefaultTheta);
  rope.rotary_dims = shape.head_dim;
  rope.pairs = traditional.value_or(false) ? model::RopePairs::kInterleaved : model::RopePairs::kHalfSplit;
  if (chosen == nullptr) return rope;

  const std::string_view key = parameters != nullptr ? "rope_parameters" : "rope_scaling";
  REJECT_IF(chosen->as_object() == nullptr, "rope.object", config.where(key), "an object", chosen->kind_name());
  REJECT_IF(parameters != nullptr && scaling != nullptr && parameters->dump() != scaling->dump(), "rope.two_objects",
            config.where("rope_scaling"), "nothing beside rope_parameters, or the same", scaling->dump());
  ConfigReader reader(*chosen, config.where(key));
  TRY(const auto inner_theta, reader.number("rope_theta"));
  REJECT_IF(inner_theta && outer_theta && *inner_theta != *outer_theta, "rope.two_thetas", config.where("rope_theta"),
            fmt::format("{} as in {}", *inner_theta, key), *outer_theta);
  if (inner_theta) rope.theta = *inner_theta;
  TRY(rope.scaling, read_scaling(reader, shape));
  return rope;
}

}  // namespace motley::arch
