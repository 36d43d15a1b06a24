#include "app/compare_statistics.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace motley::app {
namespace {

constexpr int kLowestHalfDecade = -24, kHighestHalfDecade = 4;  // 1e-12 and 1e2

// log of the sum of exp of all logits, without overflow. `highest` is the largest of them.
double log_sum_exp(std::span<const float> logits, double highest) {
  double sum = 0;
  for (const float logit : logits) sum += std::exp(logit - highest);
  return highest + std::log(sum);
}

// p log(p/q) - p + q, which adds up to the same as p log(p/q) because p and q both add up to 1. No term is negative, so
// that nothing cancels: sums of 1e-11, as between two ways of rounding, keep their digits.
double kl_term(double log_p, double log_q) {
  const double p = std::exp(log_p);
  const double log_ratio = log_q - log_p;
  // Where p underflows, expm1 may be infinite, and the product would be no number.
  if (std::abs(log_ratio) > 1) return std::exp(log_q) - p - p * log_ratio;
  return p * std::max(0.0, std::expm1(log_ratio) - log_ratio);  // expm1 may be off by its last bit
}

double mean_of(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

KlSummary kl_summary(std::span<const PositionDifference> positions) {
  std::vector<double> kl;
  for (const PositionDifference& position : positions) kl.push_back(position.kl_nats);
  std::sort(kl.begin(), kl.end());
  return {.mean = mean_of(kl),
          .median = quantile(kl, 0.5),
          .p99 = quantile(kl, 0.99),
          .p99_9 = quantile(kl, 0.999),
          .max = kl.back()};
}

std::optional<Perplexity> perplexity(std::span<const PositionDifference> positions) {
  Perplexity result;
  double sum_a = 0, sum_b = 0;
  for (const PositionDifference& position : positions) {
    if (!position.next) continue;
    ++result.tokens;
    sum_a -= position.next->log_probability_a;
    sum_b -= position.next->log_probability_b;
  }
  if (result.tokens == 0) return std::nullopt;
  const auto tokens = static_cast<double>(result.tokens);
  result.a = std::exp(sum_a / tokens);
  result.b = std::exp(sum_b / tokens);
  result.ratio = std::exp((sum_b - sum_a) / tokens);
  return result;
}

std::vector<KlBin> empty_bins() {
  std::vector<KlBin> bins(1);
  for (int half_decade = kLowestHalfDecade; half_decade <= kHighestHalfDecade; ++half_decade) {
    bins.back().to = std::pow(10, half_decade / 2.0);
    bins.push_back({.from = bins.back().to});
  }
  return bins;
}

}  // namespace

bool all_finite(std::span<const float> logits) {
  return std::all_of(logits.begin(), logits.end(), [](float logit) { return std::isfinite(logit); });
}

PositionDifference difference_of(std::span<const float> a, std::span<const float> b, std::optional<int32_t> next) {
  const auto top_a = std::max_element(a.begin(), a.end());  // the first of those that tie
  const auto top_b = std::max_element(b.begin(), b.end());
  const double log_sum_a = log_sum_exp(a, *top_a), log_sum_b = log_sum_exp(b, *top_b);
  PositionDifference result;
  result.top_a = {static_cast<int32_t>(top_a - a.begin()), *top_a - log_sum_a};
  result.top_b = {static_cast<int32_t>(top_b - b.begin()), *top_b - log_sum_b};
  result.lowest_a = *std::min_element(a.begin(), a.end());
  result.highest_a = *top_a;
  if (next) result.next = {*next, a[*next] - log_sum_a, b[*next] - log_sum_b};
  for (size_t id = 0; id < a.size(); ++id) {
    const double difference = double{b[id]} - double{a[id]};
    result.largest_difference = std::max(result.largest_difference, std::abs(difference));
    result.squared_difference_sum += difference * difference;
    result.kl_nats += kl_term(a[id] - log_sum_a, b[id] - log_sum_b);
  }
  return result;
}

double quantile(std::span<const double> sorted, double share) {
  const double at = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<size_t>(at);
  const size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (at - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

DifferenceSummary summarise(std::span<const PositionDifference> positions, uint32_t vocabulary) {
  DifferenceSummary result{
      .positions = positions.size(), .kl_nats = kl_summary(positions), .perplexity = perplexity(positions)};
  double squares = 0, lowest = positions.front().lowest_a, highest = positions.front().highest_a;
  for (const PositionDifference& position : positions) {
    result.same_top1 += position.top_a.id == position.top_b.id ? 1 : 0;
    result.largest_difference = std::max(result.largest_difference, position.largest_difference);
    squares += position.squared_difference_sum;
    lowest = std::min(lowest, position.lowest_a);
    highest = std::max(highest, position.highest_a);
  }
  result.rms_difference = std::sqrt(squares / static_cast<double>(positions.size()) / vocabulary);
  result.range_a = highest - lowest;
  return result;
}

std::vector<KlBin> kl_histogram(std::span<const PositionDifference> positions) {
  std::vector<KlBin> bins = empty_bins();
  for (const PositionDifference& position : positions) {
    const auto after = std::upper_bound(bins.begin(), bins.end(), position.kl_nats,
                                        [](double kl, const KlBin& bin) { return kl < bin.from; });
    ++std::prev(after)->count;
  }
  return bins;
}

std::span<const KlBin> occupied(std::span<const KlBin> bins) {
  const auto has_some = [](const KlBin& bin) { return bin.count > 0; };
  const auto first = std::find_if(bins.begin(), bins.end(), has_some);
  const auto last = std::find_if(bins.rbegin(), bins.rend(), has_some).base();
  return first < last ? std::span<const KlBin>(first, last) : std::span<const KlBin>();
}

std::vector<size_t> worst_positions(std::span<const PositionDifference> positions, size_t count) {
  std::vector<size_t> order(positions.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return positions[a].kl_nats > positions[b].kl_nats; });
  order.resize(std::min(count, order.size()));
  return order;
}

}  // namespace motley::app
