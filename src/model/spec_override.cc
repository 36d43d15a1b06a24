#include <array>
#include <charconv>

#include "absl/strings/str_join.h"
#include "fmt/format.h"
#include "model/spec.h"

namespace motley::model {
namespace {

template <typename Number>
StatusOr<Number> parse_number(std::string_view key, std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  REJECT_IF(error != std::errc() || end != text.data() + text.size(), "override.value",
            fmt::format("--override {}", key), "a number", fmt::format("\"{}\"", text));
  return value;
}

void for_each_attention(Spec& spec, const auto& change) {
  for (Layer& layer : spec.layers) change(std::get<SoftmaxAttention>(layer.mixer));
}

void for_each_rope(Spec& spec, const auto& change) {
  for_each_attention(spec, [&](SoftmaxAttention& attention) {
    if (attention.rope) change(*attention.rope);
  });
}

Status set_rope_theta(Spec& spec, std::string_view text) {
  TRY(const double theta, parse_number<double>("rope_theta", text));
  for_each_rope(spec, [&](Rope& rope) { rope.theta = theta; });
  return absl::OkStatus();
}

Status set_rope_linear_factor(Spec& spec, std::string_view text) {
  TRY(const double factor, parse_number<double>("rope_linear_factor", text));
  for_each_rope(spec, [&](Rope& rope) { rope.scaling = RopeLinear{factor}; });
  return absl::OkStatus();
}

Status set_rope_pairs(Spec& spec, std::string_view text) {
  REJECT_IF(text != "interleaved" && text != "half-split", "override.rope_pairs", "--override rope_pairs",
            "interleaved or half-split", fmt::format("\"{}\"", text));
  const RopePairs pairs = text == "interleaved" ? RopePairs::kInterleaved : RopePairs::kHalfSplit;
  for_each_rope(spec, [&](Rope& rope) { rope.pairs = pairs; });
  return absl::OkStatus();
}

Status set_norm_eps(Spec& spec, std::string_view text) {
  TRY(const float eps, parse_number<float>("norm_eps", text));
  spec.final_norm.eps = eps;
  for (Layer& layer : spec.layers) layer.mixer_norm.eps = layer.feed_forward_norm.eps = eps;
  return absl::OkStatus();
}

Status set_context(Spec& spec, std::string_view text) {
  TRY(spec.context_tokens, parse_number<uint32_t>("context_tokens", text));
  return absl::OkStatus();
}

Status set_attention_scale(Spec& spec, std::string_view text) {
  TRY(const float scale, parse_number<float>("attention_scale", text));
  for_each_attention(spec, [&](SoftmaxAttention& attention) { attention.scale = scale; });
  return absl::OkStatus();
}

Status set_window(Spec& spec, std::string_view text) {
  std::optional<uint32_t> window;
  if (text != "none") {
    TRY(window, parse_number<uint32_t>("window", text));
  }
  for_each_attention(spec, [&](SoftmaxAttention& attention) { attention.window = window; });
  return absl::OkStatus();
}

struct Row {
  std::string_view key;
  Status (*set)(Spec&, std::string_view);
};

// Only what a container may be unable to hold; shapes follow from the tensors and cannot be overridden.
constexpr std::array kRows = {
    Row{"rope_theta", set_rope_theta},  Row{"rope_linear_factor", set_rope_linear_factor},
    Row{"rope_pairs", set_rope_pairs},  Row{"norm_eps", set_norm_eps},
    Row{"context_tokens", set_context}, Row{"attention_scale", set_attention_scale},
    Row{"window", set_window},
};

}  // namespace

Status override_key(Spec& spec, std::string_view key, std::string_view value) {
  for (const Row& row : kRows)
    if (row.key == key) return row.set(spec, value);
  const std::string keys = absl::StrJoin(kRows, ", ", [](std::string* out, const Row& row) { out->append(row.key); });
  return absl::NotFoundError(fmt::format("--override {}: expected one of {}, got \"{}\"", key, keys, key));
}

}  // namespace motley::model
