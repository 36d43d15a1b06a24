#include "model/spec.h"

#include <cmath>

namespace motley::model {
namespace {

// Far above anything published (largest seen: 126 layers, hidden 16384, F 53248, V 262144), far below what would
// overflow a 63-bit product of three of them.
constexpr uint32_t kMaxLayers = 4096;
constexpr uint32_t kMaxWidth = 1u << 20;
constexpr uint32_t kMaxVocabulary = 1u << 24;
constexpr uint32_t kMaxContext = 1u << 28;

bool in_range(uint64_t value, uint64_t most) { return value >= 1 && value <= most; }

bool sane(double value, double least, double most) { return std::isfinite(value) && value >= least && value <= most; }

Status check_scaling(const Rope& rope, std::string_view where) {
  if (const auto* linear = std::get_if<RopeLinear>(&rope.scaling))
    REJECT_IF(!sane(linear->factor, 1e-3, 1e6), "spec.rope_linear", where, "a positive RoPE scaling factor",
              linear->factor);
  if (const auto* llama3 = std::get_if<RopeLlama3>(&rope.scaling)) {
    REJECT_IF(!sane(llama3->factor, 1e-3, 1e6) || !in_range(llama3->original_context, kMaxContext), "spec.rope_llama3",
              where, "a positive llama3 RoPE factor and original context",
              fmt::format("{} and {}", llama3->factor, llama3->original_context));
    REJECT_IF(!sane(llama3->low_freq_factor, 1e-6, 1e6) || !sane(llama3->high_freq_factor, 1e-6, 1e6) ||
                  llama3->low_freq_factor >= llama3->high_freq_factor,
              "spec.rope_llama3_ramp", where, "low_freq_factor below high_freq_factor",
              fmt::format("{} and {}", llama3->low_freq_factor, llama3->high_freq_factor));
  }
  if (const auto* yarn = std::get_if<RopeYarn>(&rope.scaling))
    REJECT_IF(!sane(yarn->factor, 1e-3, 1e6) || !in_range(yarn->original_context, kMaxContext) ||
                  !sane(yarn->beta_fast, 1e-3, 1e6) || !sane(yarn->beta_slow, 1e-3, 1e6) ||
                  !sane(yarn->attention_factor, 1e-3, 1e3),
              "spec.rope_yarn", where, "positive YaRN factor, original context, betas and attention factor",
              fmt::format("{}, {}, {}, {}, {}", yarn->factor, yarn->original_context, yarn->beta_fast, yarn->beta_slow,
                          yarn->attention_factor));
  if (const auto* table = std::get_if<RopeDivisors>(&rope.scaling)) {
    REJECT_IF(table->divisors.size() != rope.rotary_dims / 2, "spec.rope_divisors", where,
              fmt::format("{} RoPE divisors", rope.rotary_dims / 2), table->divisors.size());
    for (const float divisor : table->divisors)
      REJECT_IF(!sane(divisor, 1e-6, 1e6), "spec.rope_divisor_value", where, "positive RoPE divisors", divisor);
  }
  return absl::OkStatus();
}

Status check_rope(const Rope& rope, uint32_t head_dim, std::string_view where) {
  REJECT_IF(!sane(rope.theta, 1, 1e12), "spec.rope_theta", where, "rope_theta in [1, 1e12]", rope.theta);
  REJECT_IF(rope.rotary_dims % 2 != 0 || !in_range(rope.rotary_dims, head_dim), "spec.rotary_dims", where,
            fmt::format("an even number of rotary dims up to the head dim {}", head_dim), rope.rotary_dims);
  return check_scaling(rope, where);
}

Status check_attention(const SoftmaxAttention& attention, std::string_view where) {
  REJECT_IF(!in_range(attention.heads, kMaxWidth), "spec.heads", where, "at least one attention head", attention.heads);
  REJECT_IF(!in_range(attention.kv_heads, attention.heads) || attention.heads % attention.kv_heads != 0,
            "spec.kv_heads", where, fmt::format("a number of KV heads that divides {} heads", attention.heads),
            attention.kv_heads);
  REJECT_IF(!in_range(attention.head_dim, kMaxWidth / attention.heads), "spec.head_dim", where,
            fmt::format("a head dim in [1, {}] for {} heads", kMaxWidth / attention.heads, attention.heads),
            attention.head_dim);
  REJECT_IF(attention.head_dim % 2 != 0, "spec.head_dim_even", where, "an even head dim", attention.head_dim);
  REJECT_IF(!sane(attention.scale, 1e-6, 1e3), "spec.attention_scale", where, "a positive attention scale",
            attention.scale);
  REJECT_IF(attention.window && !in_range(*attention.window, kMaxContext), "spec.window", where,
            "a sliding window of at least one token", *attention.window);
  if (attention.rope) return check_rope(*attention.rope, attention.head_dim, where);
  return absl::OkStatus();
}

Status check_norm(const Norm& norm, std::string_view where) {
  REJECT_IF(!sane(norm.eps, 0, 1), "spec.norm_eps", where, "a norm epsilon in [0, 1]", norm.eps);
  return absl::OkStatus();
}

Status check_layer(const Layer& layer, std::string_view where) {
  TRY(check_norm(layer.mixer_norm, where));
  TRY(check_norm(layer.feed_forward_norm, where));
  TRY(check_attention(std::get<SoftmaxAttention>(layer.mixer), where));
  const auto& dense = std::get<DenseFeedForward>(layer.feed_forward);
  REJECT_IF(!in_range(dense.width, kMaxWidth), "spec.feed_forward_width", where,
            fmt::format("a feed-forward width in [1, {}]", kMaxWidth), dense.width);
  return absl::OkStatus();
}

}  // namespace

Status check(const Spec& spec, std::string_view where) {
  REJECT_IF(!in_range(spec.hidden, kMaxWidth), "spec.hidden", where, fmt::format("a hidden size in [1, {}]", kMaxWidth),
            spec.hidden);
  REJECT_IF(!in_range(spec.vocabulary, kMaxVocabulary), "spec.vocabulary", where,
            fmt::format("a vocabulary size in [1, {}]", kMaxVocabulary), spec.vocabulary);
  REJECT_IF(!in_range(spec.context_tokens, kMaxContext), "spec.context", where,
            fmt::format("a context in [1, {}]", kMaxContext), spec.context_tokens);
  REJECT_IF(!in_range(spec.layers.size(), kMaxLayers), "spec.layers", where, fmt::format("1 to {} layers", kMaxLayers),
            spec.layers.size());
  TRY(check_norm(spec.final_norm, where));
  for (const Layer& layer : spec.layers) TRY(check_layer(layer, where));
  return absl::OkStatus();
}

uint64_t kv_bytes_per_token(const Spec& spec, uint64_t kv_element_bytes) {
  uint64_t elements = 0;
  for (const Layer& layer : spec.layers) {
    const auto& attention = std::get<SoftmaxAttention>(layer.mixer);
    elements += 2 * uint64_t{attention.kv_heads} * attention.head_dim;
  }
  return elements * kv_element_bytes;
}

std::vector<Cut> legal_cuts(const Spec& spec) {
  std::vector<Cut> cuts;
  const auto half_layers = static_cast<uint32_t>(2 * spec.layers.size());
  for (uint32_t cut = 0; cut <= half_layers; ++cut) cuts.push_back({.half_layer = cut, .stream_width = spec.hidden});
  return cuts;
}

}  // namespace motley::model
