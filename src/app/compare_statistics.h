// How far the logits B of a text are from its logits A: figures of one position, and of all of them. Pure functions in
// double precision; running models and printing are others' business. All logits are finite (all_finite).
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

namespace motley::app {

bool all_finite(std::span<const float> logits);

struct TopToken {
  int32_t id = 0;  // the lowest of those that tie
  double log_probability = 0;
};

// What a position's logits say of the token that follows there in the text.
struct NextToken {
  int32_t id = 0;
  double log_probability_a = 0, log_probability_b = 0;
};

struct PositionDifference {
  double kl_nats = 0;  // sum of p_A (log p_A - log p_B)
  TopToken top_a, top_b;
  std::optional<NextToken> next;
  double largest_difference = 0;       // of two logits
  double squared_difference_sum = 0;   // over the vocabulary
  double lowest_a = 0, highest_a = 0;  // logits
};

// `a` and `b`: [V], V at least 1. `next`: the id after this position, if the text has one.
PositionDifference difference_of(std::span<const float> a, std::span<const float> b, std::optional<int32_t> next);

// The quantile `share` (0 to 1) of sorted values, linear between the two that are next to it: Hyndman and Fan's type 7,
// which NumPy and R use. At least one value.
double quantile(std::span<const double> sorted, double share);

struct KlSummary {
  double mean = 0, median = 0, p99 = 0, p99_9 = 0, max = 0;
};

struct Perplexity {
  uint64_t tokens = 0;  // positions with a next token
  double a = 0, b = 0;  // exp of the mean of -log p
  double ratio = 0;     // b / a
};

struct DifferenceSummary {
  uint64_t positions = 0;
  KlSummary kl_nats;
  uint64_t same_top1 = 0;  // positions
  std::optional<Perplexity> perplexity;
  double rms_difference = 0;  // over all logits of all positions
  double largest_difference = 0;
  double range_a = 0;  // from the lowest to the highest logit of all positions

  double same_top1_share() const { return static_cast<double>(same_top1) / static_cast<double>(positions); }
  // Infinite when logits of A are all equal and those of B are not.
  double largest_difference_share() const { return largest_difference == 0 ? 0 : largest_difference / range_a; }
};

// At least one position.
DifferenceSummary summarise(std::span<const PositionDifference> positions, uint32_t vocabulary);

// Positions whose KL is at least `from` and less than `to`.
struct KlBin {
  double from = 0, to = std::numeric_limits<double>::infinity();
  uint64_t count = 0;
};

// Two bins a decade from 1e-12, where rounding of doubles begins to show, to 100 nats; below and above one more each.
std::vector<KlBin> kl_histogram(std::span<const PositionDifference> positions);

// The part of a histogram from its first bin with something in it to its last.
std::span<const KlBin> occupied(std::span<const KlBin> bins);

// Indices of the `count` positions with the largest KL, largest first; those that tie in the order of the text.
std::vector<size_t> worst_positions(std::span<const PositionDifference> positions, size_t count);

}  // namespace motley::app
