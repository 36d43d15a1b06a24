#include <cmath>

#include "arch/rope_config.h"

namespace motley::arch {
namespace {

constexpr double kDefaultTheta = 10000;  // llama.cpp's, when rope.freq_base is absent
constexpr std::string_view kFrequencyTensor =
    "rope_freqs.weight";  // how llama.cpp's converter stores Llama 3's scaling

StatusOr<model::RopeScaling> yarn(ConfigReader& config, const RopeShape& shape, double factor) {
  model::RopeYarn result{.factor = factor};
  TRY(const auto original, config.count("rope.scaling.original_context_length"));
  TRY(const auto attention, config.number("rope.scaling.attn_factor"));
  TRY(const auto fast, config.number("rope.scaling.yarn_beta_fast"));
  TRY(const auto slow, config.number("rope.scaling.yarn_beta_slow"));
  result.original_context = original.value_or(shape.context_tokens);
  result.beta_fast = fast.value_or(result.beta_fast);
  result.beta_slow = slow.value_or(result.beta_slow);
  // ggml multiplies the file's factor by 0.1 ln(s) + 1 (rope_yarn in ops.cpp).
  result.attention_factor = attention.value_or(1) * (factor <= 1 ? 1 : 0.1 * std::log(factor) + 1);
  return result;
}

StatusOr<model::RopeScaling> scaling_from_keys(ConfigReader& config, const RopeShape& shape) {
  TRY(const auto old_factor, config.number("rope.scale_linear"));  // files of 2023
  TRY(const auto new_factor, config.number("rope.scaling.factor"));
  TRY(const auto kind, config.text("rope.scaling.type"));
  config.value("rope.scaling.finetuned");  // says how the model was made, nothing to compute
  const double given = new_factor.value_or(old_factor.value_or(1));
  const double factor = given == 0 ? 1 : given;      // 0 means "not scaled" there
  const std::string name = kind.value_or("linear");  // llama.cpp's default
  if (name == "yarn") return yarn(config, shape, factor);
  REJECT_IF(name != "none" && name != "linear", "rope.gguf_kind", config.where("rope.scaling.type"),
            "none, linear or yarn", fmt::format("\"{}\"", name));
  config.value("rope.scaling.original_context_length");  // informational for these kinds
  if (name == "none" || factor == 1) return model::RopeUnscaled{};
  return model::RopeLinear{.factor = factor};
}

}  // namespace

StatusOr<model::Rope> rope_from_gguf(ConfigReader& config, const RopeShape& shape, const Catalogue& tensors,
                                     std::vector<std::string>& used_tensors) {
  model::Rope rope;
  TRY(const auto theta, config.number("rope.freq_base"));
  TRY(const auto rotary, config.count("rope.dimension_count"));
  rope.theta = theta.value_or(kDefaultTheta);
  rope.rotary_dims = rotary.value_or(shape.head_dim);
  REJECT_IF(rope.rotary_dims != shape.head_dim, "rope.gguf_dims", config.where("rope.dimension_count"),
            fmt::format("the head dim {}", shape.head_dim), rope.rotary_dims);
  rope.pairs = model::RopePairs::kInterleaved;  // the converter reordered Q and K
  TRY(rope.scaling, scaling_from_keys(config, shape));
  if (!tensors.has(kFrequencyTensor)) return rope;
  REJECT_IF(!std::holds_alternative<model::RopeUnscaled>(rope.scaling), "rope.gguf_two_scalings",
            config.where("rope.scaling.type"), fmt::format("no scaling beside the tensor {}", kFrequencyTensor),
            "scaling keys");
  TRY(auto divisors, tensors.floats(kFrequencyTensor));
  rope.scaling = model::RopeDivisors{.divisors = std::move(divisors)};
  used_tensors.emplace_back(kFrequencyTensor);
  return rope;
}

}  // namespace motley::arch
