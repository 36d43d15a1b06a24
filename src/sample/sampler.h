// From logits to a token: pure functions of their arguments, so that a draw depends neither on the batch it was made in
// nor on a generator's state. Runs where the head is. Not for stop conditions, and not for grammars (they arrive here
// as a mask).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/status.h"

namespace motley::sample {

// How to choose. The steps run in this order, each on what the one before left: logit mask, penalties, temperature,
// top-k, top-p, min-p, draw. It is the order of transformers' generate(), from which generation_config.json files come.
struct Settings {
  double temperature = 1;  // 0: the largest logit, the lowest id among equals; the steps after penalties do not matter
  uint32_t top_k = 0;      // keep the k most probable; 0: all
  double top_p = 1;        // keep the smallest set of most probable tokens with at least this probability together
  double min_p = 0;        // keep tokens with at least this share of the largest probability
  double repeat_penalty =
      1;  // seen tokens: logit / p when positive, logit * p otherwise (arXiv 1909.05858, section 4.1)
  double presence_penalty = 0;   // subtracted once from the logit of every seen token
  double frequency_penalty = 0;  // subtracted once for each time it was seen
  uint32_t penalty_window = 64;  // how many of the last tokens count as seen; 0: all
  uint64_t seed = 0;

  bool operator==(const Settings&) const = default;
};

// Sites "sample.*": values outside their ranges, each named.
Status check(const Settings& settings);

// Which draw this is. Equal keys and equal logits give equal tokens, on any machine with the same logits.
struct DrawKey {
  uint64_t seed = 0;
  uint32_t choice = 0;    // of n choices for one prompt
  uint32_t position = 0;  // of the token in its sequence
};

struct TokenProbability {
  int32_t id = 0;
  float log_probability = 0;  // natural logarithm, after mask, before penalties and temperature
};

struct Draw {
  int32_t id = 0;
  // Filled when a report was asked for: it costs a pass of exponentials over the vocabulary.
  std::optional<float> log_probability;
  std::vector<TokenProbability> top;  // the most probable alternatives, best first
};

// A token may be drawn when its bit is set: bit id%32 of word id/32. Empty: all may.
using Mask = std::span<const uint32_t>;

// `history`: the sequence so far, oldest first, for the penalties. `report_top`: report log-probabilities, of the drawn
// token and of this many alternatives. InvalidArgument when the mask allows no token or no logit is a number.
StatusOr<Draw> draw(std::span<const float> logits, const Settings& settings, const DrawKey& key,
                    std::span<const int32_t> history, Mask mask = {},
                    std::optional<uint32_t> report_top = std::nullopt);

// Uniform in [0, 1) from a key alone: SplitMix64 steps over its fields (Steele, Lea, Flood: OOPSLA 2014).
double uniform(const DrawKey& key);

}  // namespace motley::sample
