// What a network computes, apart from where its numbers lie. Two checkpoints of the same network have equal specs,
// whatever their formats. Nothing here is chosen by a model's name; families (arch) translate their own metadata into
// this.
//
// Shape letters used all over motley: T tokens, H hidden (width of the residual stream), Q query heads, K key/value
// heads, D head dim, F feed-forward width, V vocabulary, L layers, E experts. Weight matrices are [N out, K in].
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/json.h"
#include "base/status.h"

namespace motley::model {

// --- Position encoding: rotary, one frequency a pair of inputs
// -------------------------------------------------------------

// Which inputs of a head form a pair: (2i, 2i+1), or (i, i + rotary/2). Rows of Q and K are kept in the file's order
// and the rotation follows it, so this belongs to the checkpoint's convention as much as to the network.
enum class RopePairs : uint8_t { kInterleaved, kHalfSplit };

// Changes of the base frequencies f[i] = theta^(-2i/rotary). Each with its published definition.
struct RopeUnscaled {
  bool operator==(const RopeUnscaled&) const = default;
};
struct RopeLinear {  // f / factor: Chen et al., arXiv 2306.15595
  double factor = 1;
  bool operator==(const RopeLinear&) const = default;
};
struct RopeLlama3 {  // Llama 3.1: long waves / factor, short ones kept, a ramp between; transformers
                     // modeling_rope_utils.py
  double factor = 1, low_freq_factor = 1, high_freq_factor = 4;
  uint32_t original_context = 8192;
  bool operator==(const RopeLlama3&) const = default;
};
struct RopeYarn {  // Peng et al., arXiv 2309.00071
  double factor = 1, beta_fast = 32, beta_slow = 1, attention_factor = 1;
  uint32_t original_context = 0;
  bool truncate = true;
  bool operator==(const RopeYarn&) const = default;
};
struct RopeDivisors {  // f[i] / divisor[i], as GGUF's rope_freqs tensor gives them
  std::vector<float> divisors;
  bool operator==(const RopeDivisors&) const = default;
};
using RopeScaling = std::variant<RopeUnscaled, RopeLinear, RopeLlama3, RopeYarn, RopeDivisors>;

struct Rope {
  double theta = 10000;
  uint32_t rotary_dims = 0;  // the first rotary_dims inputs of a head turn, the rest pass
  RopePairs pairs = RopePairs::kHalfSplit;
  RopeScaling scaling;
  bool operator==(const Rope&) const = default;
};

// rotary_dims/2 frequencies (radians a position) after scaling, and the factor on both rotated Q and K (YaRN; 1
// elsewhere).
struct RopeFrequencies {
  std::vector<double> radians_per_position;
  double magnitude = 1;
};
RopeFrequencies rope_frequencies(const Rope& rope);

// --- Blocks
// ---------------------------------------------------------------------------------------------------------------

// RMSNorm: x / sqrt(mean(x^2) + eps) * (weight + weight_offset). offset 1 where files hold w - 1 (Gemma from Hugging
// Face).
struct Norm {
  float eps = 1e-5f;
  float weight_offset = 0;
  bool operator==(const Norm&) const = default;
};

struct SoftmaxAttention {
  uint32_t heads = 0;
  uint32_t kv_heads = 0;
  uint32_t head_dim = 0;
  float scale = 0;                 // of q·k, normally head_dim^-1/2
  std::optional<uint32_t> window;  // a query at i sees keys j with i - window < j <= i
  bool q_bias = false, k_bias = false, v_bias = false, o_bias = false;
  std::optional<Rope> rope;  // nullopt: no position encoding in this layer
  bool operator==(const SoftmaxAttention&) const = default;
};

// Alternatives that later families bring (latent attention, recurrent mixers) join here, one file each.
using Mixer = std::variant<SoftmaxAttention>;

enum class Activation : uint8_t { kSilu };

struct DenseFeedForward {  // down(act(gate(x)) * up(x))
  uint32_t width = 0;      // F
  Activation activation = Activation::kSilu;
  bool gate_bias = false, up_bias = false, down_bias = false;
  bool operator==(const DenseFeedForward&) const = default;
};
using FeedForward = std::variant<DenseFeedForward>;

// h = x + mixer(norm(x)); y = h + feed_forward(norm(h))
struct Layer {
  Norm mixer_norm;
  Mixer mixer;
  Norm feed_forward_norm;
  FeedForward feed_forward;
  bool operator==(const Layer&) const = default;
};

struct Embedding {
  float scale = 1;
  bool operator==(const Embedding&) const = default;
};

struct Head {
  bool tied = false;  // logits = embedding matrix times the final stream
  bool bias = false;
  bool operator==(const Head&) const = default;
};

struct Spec {
  uint32_t hidden = 0;          // H
  uint32_t vocabulary = 0;      // V, rows of the embedding
  uint32_t context_tokens = 0;  // what the model was made for
  Embedding embedding;
  std::vector<Layer> layers;
  Norm final_norm;
  Head head;
  bool operator==(const Spec&) const = default;
};

// Structural sanity that every family's spec must pass before anything is sized from it: counts in range, heads
// divisible by KV heads, even rotary dims, products that fit. Sites "spec.*"; `where` is the metadata file.
Status check(const Spec& spec, std::string_view where);

// Bytes of KV cache of one token over all layers, elements of `kv_element_bytes`.
uint64_t kv_bytes_per_token(const Spec& spec, uint64_t kv_element_bytes);

// --- Cuts
// -------------------------------------------------------------------------------------------------------------------

// Where the network may be split between devices. Cut c lies before half-layer c: cut 0 after the embedding, cut 2l
// before the mixer of layer l, cut 2l+1 before its feed-forward, cut 2L before the final norm and head. Token ids
// travel always.
struct Cut {
  uint32_t half_layer = 0;
  uint32_t stream_width = 0;  // what crosses: one residual stream [T, H]
  bool operator==(const Cut&) const = default;
};
std::vector<Cut> legal_cuts(const Spec& spec);

// For `inspect` and reports: every key that shapes the network, in a stable order.
Json to_json(const Spec& spec);

// Sets one key by hand ("rope_theta", "norm_eps", "context", …) from text. NotFound names the keys there are;
// InvalidArgument when the text is no value of the key's type or is out of its range. check() is run again by the
// caller.
Status override_key(Spec& spec, std::string_view key, std::string_view value);

}  // namespace motley::model
