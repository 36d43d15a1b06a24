#include "sample/sampler.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_map>

namespace motley::sample {
namespace {

struct Candidate {
  int32_t id = 0;
  float logit = 0;
  double weight = 0;  // exp((logit - largest) / temperature)
};

// Most probable first; among equals the lower id, so that the order is total.
bool better(const Candidate& a, const Candidate& b) { return a.logit != b.logit ? a.logit > b.logit : a.id < b.id; }

bool allowed(Mask mask, size_t id) {
  return mask.empty() || (id / 32 < mask.size() && ((mask[id / 32] >> (id % 32)) & 1u) != 0);
}

using Counts = std::unordered_map<int32_t, uint32_t>;

bool has_penalties(const Settings& settings) {
  return settings.repeat_penalty != 1 || settings.presence_penalty != 0 || settings.frequency_penalty != 0;
}

Counts count_seen(const Settings& settings, std::span<const int32_t> history) {
  Counts counts;
  if (!has_penalties(settings)) return counts;
  if (settings.penalty_window != 0 && history.size() > settings.penalty_window)
    history = history.last(settings.penalty_window);
  for (const int32_t id : history) ++counts[id];
  return counts;
}

float penalised(float logit, uint32_t count, const Settings& settings) {
  const double scaled = logit > 0 ? logit / settings.repeat_penalty : logit * settings.repeat_penalty;
  return static_cast<float>(scaled - settings.presence_penalty - settings.frequency_penalty * count);
}

// What may be drawn at all, after the penalties. Not-a-number logits are never candidates.
std::vector<Candidate> candidates(std::span<const float> logits, const Settings& settings,
                                  std::span<const int32_t> history, Mask mask) {
  const Counts seen = count_seen(settings, history);
  std::vector<Candidate> result;
  result.reserve(logits.size());
  for (size_t id = 0; id < logits.size(); ++id)
    if (!std::isnan(logits[id]) && allowed(mask, id))
      result.push_back({.id = static_cast<int32_t>(id), .logit = logits[id], .weight = 0});
  if (seen.empty()) return result;
  for (Candidate& candidate : result)
    if (const auto found = seen.find(candidate.id); found != seen.end())
      candidate.logit = penalised(candidate.logit, found->second, settings);
  return result;
}

void keep_top_k(std::vector<Candidate>& pool, uint32_t k) {
  if (k == 0 || k >= pool.size()) return;
  std::nth_element(pool.begin(), pool.begin() + k, pool.end(), better);
  pool.resize(k);
}

// Fills the weights, relative to the largest logit of the pool.
void weigh(std::vector<Candidate>& pool, double temperature) {
  const float largest = std::min_element(pool.begin(), pool.end(), better)->logit;
  for (Candidate& candidate : pool)
    candidate.weight = std::exp((double{candidate.logit} - double{largest}) / temperature);
}

void keep_top_p(std::vector<Candidate>& pool, double top_p) {
  if (top_p >= 1) return;
  double total = 0;
  for (const Candidate& candidate : pool) total += candidate.weight;
  double sum = 0;
  size_t kept = 0;
  while (kept < pool.size() && (kept == 0 || sum < top_p * total)) sum += pool[kept++].weight;
  pool.resize(kept);
}

void keep_min_p(std::vector<Candidate>& pool, double min_p) {
  if (min_p <= 0) return;
  // The pool is sorted and the first weight is 1.
  while (pool.size() > 1 && pool.back().weight < min_p * pool.front().weight) pool.pop_back();
}

int32_t pick(const std::vector<Candidate>& pool, double share) {
  double total = 0;
  for (const Candidate& candidate : pool) total += candidate.weight;
  double left = share * total;
  for (const Candidate& candidate : pool) {
    left -= candidate.weight;
    if (left < 0) return candidate.id;
  }
  return pool.back().id;  // rounding
}

int32_t draw_id(std::vector<Candidate>& pool, const Settings& settings, const DrawKey& key) {
  if (settings.temperature == 0) return std::min_element(pool.begin(), pool.end(), better)->id;
  keep_top_k(pool, settings.top_k);
  weigh(pool, settings.temperature);
  if (settings.top_k != 0 || settings.top_p < 1 || settings.min_p > 0) std::sort(pool.begin(), pool.end(), better);
  keep_top_p(pool, settings.top_p);
  keep_min_p(pool, settings.min_p);
  return pick(pool, uniform(key));
}

// log of the sum of exp over what the mask allows.
double log_partition(std::span<const float> logits, Mask mask) {
  double largest = -std::numeric_limits<double>::infinity();
  for (size_t id = 0; id < logits.size(); ++id)
    if (allowed(mask, id) && logits[id] > largest) largest = logits[id];
  double sum = 0;
  for (size_t id = 0; id < logits.size(); ++id)
    if (allowed(mask, id) && !std::isnan(logits[id])) sum += std::exp(logits[id] - largest);
  return largest + std::log(sum);
}

void report(Draw& draw, std::span<const float> logits, Mask mask, uint32_t top) {
  const double partition = log_partition(logits, mask);
  const auto log_probability = [&](float logit) { return static_cast<float>(logit - partition); };
  draw.log_probability = log_probability(logits[static_cast<size_t>(draw.id)]);
  std::vector<Candidate> pool = candidates(logits, Settings{}, {}, mask);
  const size_t count = std::min<size_t>(top, pool.size());
  std::partial_sort(pool.begin(), pool.begin() + static_cast<ptrdiff_t>(count), pool.end(), better);
  for (size_t i = 0; i < count; ++i)
    draw.top.push_back({.id = pool[i].id, .log_probability = log_probability(pool[i].logit)});
}

uint64_t mix(uint64_t state, uint64_t word) {
  uint64_t z = state + 0x9e3779b97f4a7c15u + word;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

// Greedy without penalties is what benchmarks and tests run: one pass, no copy of the vocabulary.
std::optional<int32_t> plain_greedy(std::span<const float> logits, Mask mask) {
  std::optional<int32_t> best;
  for (size_t id = 0; id < logits.size(); ++id)
    if (!std::isnan(logits[id]) && allowed(mask, id) && (!best || logits[id] > logits[static_cast<size_t>(*best)]))
      best = static_cast<int32_t>(id);
  return best;
}

StatusOr<int32_t> choose(std::span<const float> logits, const Settings& settings, const DrawKey& key,
                         std::span<const int32_t> history, Mask mask) {
  const auto nothing =
      absl::InvalidArgumentError("no token can be drawn: the mask allows none, or no logit is a number");
  if (settings.temperature == 0 && !has_penalties(settings)) {
    const auto best = plain_greedy(logits, mask);
    if (!best) return nothing;
    return *best;
  }
  std::vector<Candidate> pool = candidates(logits, settings, history, mask);
  if (pool.empty()) return nothing;
  return draw_id(pool, settings, key);
}

}  // namespace

Status check(const Settings& settings) {
  const std::string_view where = "sampling settings";
  REJECT_IF(!(settings.temperature >= 0 && settings.temperature <= 100), "sample.temperature", where,
            "a temperature in [0, 100]", settings.temperature);
  REJECT_IF(!(settings.top_p > 0 && settings.top_p <= 1), "sample.top_p", where, "a top-p in (0, 1]", settings.top_p);
  REJECT_IF(!(settings.min_p >= 0 && settings.min_p <= 1), "sample.min_p", where, "a min-p in [0, 1]", settings.min_p);
  REJECT_IF(!(settings.repeat_penalty > 0 && settings.repeat_penalty <= 10), "sample.repeat_penalty", where,
            "a repeat penalty in (0, 10]", settings.repeat_penalty);
  REJECT_IF(!(std::abs(settings.presence_penalty) <= 100), "sample.presence_penalty", where,
            "a presence penalty in [-100, 100]", settings.presence_penalty);
  REJECT_IF(!(std::abs(settings.frequency_penalty) <= 100), "sample.frequency_penalty", where,
            "a frequency penalty in [-100, 100]", settings.frequency_penalty);
  return absl::OkStatus();
}

double uniform(const DrawKey& key) {
  const uint64_t bits = mix(mix(mix(0, key.seed), key.choice), key.position);
  return static_cast<double>(bits >> 11) * 0x1p-53;
}

StatusOr<Draw> draw(std::span<const float> logits, const Settings& settings, const DrawKey& key,
                    std::span<const int32_t> history, Mask mask, std::optional<uint32_t> report_top) {
  TRY(check(settings));
  Draw result;
  TRY(result.id, choose(logits, settings, key, history, mask));
  if (report_top) report(result, logits, mask, *report_top);
  return result;
}

}  // namespace motley::sample
