#include "convert/spec_limits.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace motley::convert {
namespace {

bool same_but_window(model::Layer a, const model::Layer& b) {
  std::get<model::SoftmaxAttention>(a.mixer).window = std::get<model::SoftmaxAttention>(b.mixer).window;
  return a == b;
}

Status check_attention(const model::SoftmaxAttention& attention, std::string_view target) {
  const float usual = 1 / std::sqrt(static_cast<float>(attention.head_dim));
  REJECT_IF(attention.scale != usual, "convert.attention_scale", target, "a scale of 1/sqrt(head_dim)",
            attention.scale);
  const uint32_t rotary = attention.rope ? attention.rope->rotary_dims : 0;
  REJECT_IF(rotary != attention.head_dim, "convert.rotary_dims", target,
            fmt::format("heads that turn whole, {} dimensions", attention.head_dim), rotary);
  return absl::OkStatus();
}

}  // namespace

StatusOr<LlamaShape> llama_shape(const model::Spec& spec, std::string_view target) {
  const model::Layer& first = spec.layers.front();
  for (size_t layer = 0; layer < spec.layers.size(); ++layer)
    REJECT_IF(!same_but_window(spec.layers[layer], first), "convert.uneven_layers", target,
              "layers that differ in their window only", fmt::format("another layer {}", layer));
  const model::Norm& norm = first.mixer_norm;
  REJECT_IF(spec.embedding.scale != 1 || norm.weight_offset != 0 || first.feed_forward_norm != norm ||
                spec.final_norm != norm,
            "convert.scaled", target, "one kind of norm without offset and an embedding that is not scaled", "others");
  REJECT_IF(spec.head.bias, "convert.head_bias", target, "a head without bias", "one with");
  LlamaShape shape{.attention = std::get<model::SoftmaxAttention>(first.mixer),
                   .feed_forward = std::get<model::DenseFeedForward>(first.feed_forward),
                   .norm_eps = norm.eps,
                   .windowed = {},
                   .window = std::nullopt};
  TRY(check_attention(shape.attention, target));
  for (const model::Layer& layer : spec.layers) {
    const auto window = std::get<model::SoftmaxAttention>(layer.mixer).window;
    shape.windowed.push_back(window.has_value());
    REJECT_IF(window && shape.window && *window != *shape.window, "convert.windows", target, "one window",
              fmt::format("{} and {}", *shape.window, *window));
    if (window) shape.window = window;
  }
  return shape;
}

double shortest(float value) { return std::strtod(fmt::format("{}", value).c_str(), nullptr); }

std::vector<float> divisors_of(const model::Rope& rope) {
  model::Rope unscaled = rope;
  unscaled.scaling = model::RopeUnscaled{};
  const auto base = model::rope_frequencies(unscaled).radians_per_position;
  const auto scaled = model::rope_frequencies(rope).radians_per_position;
  std::vector<float> divisors;
  for (size_t i = 0; i < base.size(); ++i) divisors.push_back(static_cast<float>(base[i] / scaled[i]));
  return divisors;
}

std::optional<model::RopeLlama3> llama3_of_divisors(const model::Rope& rope) {
  const auto& given = std::get<model::RopeDivisors>(rope.scaling).divisors;
  if (given.empty()) return std::nullopt;
  // Meta's releases: 8 (3.1) and 32 (3.2) on 8192; the longest wave shows the factor, and the rest is checked.
  for (const uint32_t original : {8192u, 4096u, 2048u, 1024u, 512u, 256u, 128u, 64u, 32u, 16u}) {
    const model::RopeLlama3 candidate{
        .factor = given.back(), .low_freq_factor = 1, .high_freq_factor = 4, .original_context = original};
    model::Rope tried = rope;
    tried.scaling = candidate;
    const auto made = divisors_of(tried);
    const auto close = [](float a, float b) { return std::fabs(a - b) <= 4e-7f * std::fabs(b); };
    if (made.size() == given.size() && std::equal(made.begin(), made.end(), given.begin(), close)) return candidate;
  }
  return std::nullopt;
}

}  // namespace motley::convert
