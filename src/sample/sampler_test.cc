#include "sample/sampler.h"

#include <cmath>
#include <limits>
#include <map>
#include <numeric>

#include "gtest/gtest.h"

namespace motley::sample {
namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

int32_t drawn(const std::vector<float>& logits, const Settings& settings, DrawKey key = {},
              const std::vector<int32_t>& history = {}, const std::vector<uint32_t>& mask = {}) {
  const auto result = draw(logits, settings, key, history, mask);
  EXPECT_TRUE(result.ok()) << result.status();
  return result.ok() ? result->id : -1;
}

// How often each id comes in `draws` draws at positions 0, 1, …
std::map<int32_t, double> shares(const std::vector<float>& logits, Settings settings, uint32_t draws = 20000) {
  std::map<int32_t, double> result;
  for (uint32_t position = 0; position < draws; ++position)
    result[draw(logits, settings, {.seed = 7, .position = position}, {})->id] += 1.0 / draws;
  return result;
}

TEST(Greedy, TakesTheLargestAndTheLowestIdAmongEquals) {
  EXPECT_EQ(drawn({1, 5, 5, 2}, {.temperature = 0}), 1);
  EXPECT_EQ(drawn({kNaN, 1, kNaN, 0}, {.temperature = 0}), 1);
}

TEST(Greedy, RespectsTheMask) { EXPECT_EQ(drawn({1, 5, 4, 2}, {.temperature = 0}, {}, {}, {0b1101}), 2); }

TEST(Draw, NothingToDrawIsAnError) {
  const std::vector<float> logits = {1, 2};
  EXPECT_FALSE(draw(logits, {.temperature = 0}, {}, {}, std::vector<uint32_t>{0}).ok());
  EXPECT_FALSE(draw(std::vector<float>{kNaN}, {}, {}, {}).ok());
}

// The softmax itself is the independent reference: three standard deviations of a binomial at 20000 draws.
TEST(Draw, SharesFollowTheSoftmax) {
  const std::vector<float> logits = {0, 1, 2, -1};
  const auto got = shares(logits, {.temperature = 0.5});
  double total = 0;
  for (const float logit : logits) total += std::exp(logit / 0.5);
  for (int32_t id = 0; id < 4; ++id) {
    const double expected = std::exp(logits[static_cast<size_t>(id)] / 0.5) / total;
    EXPECT_NEAR(got.contains(id) ? got.at(id) : 0, expected, 3 * std::sqrt(expected * (1 - expected) / 20000) + 1e-4)
        << id;
  }
}

TEST(Draw, TopKKeepsTheKMostProbable) {
  const auto got = shares({0, 3, 1, 2}, {.top_k = 2});
  EXPECT_EQ(got.size(), 2u);
  EXPECT_TRUE(got.contains(1) && got.contains(3));
}

TEST(Draw, TopPKeepsTheSmallestSetThatReachesIt) {
  // Probabilities 0.5, 0.3, 0.2: 0.6 needs two of them, 0.5 only the first.
  const std::vector<float> logits = {std::log(0.3f), std::log(0.5f), std::log(0.2f)};
  EXPECT_EQ(shares(logits, {.top_p = 0.6}).size(), 2u);
  EXPECT_EQ(shares(logits, {.top_p = 0.45}).size(), 1u);
  EXPECT_EQ(shares(logits, {.top_p = 0.9}).size(), 3u);
}

TEST(Draw, MinPIsRelativeToTheMostProbable) {
  const std::vector<float> logits = {std::log(0.5f), std::log(0.3f), std::log(0.2f)};
  EXPECT_EQ(shares(logits, {.min_p = 0.5}).size(), 2u);  // 0.2 < 0.25 goes, 0.3 stays
}

TEST(Draw, SameKeySameTokenWhateverCameBefore) {
  std::vector<float> logits(1000);
  std::iota(logits.begin(), logits.end(), 0.0f);
  for (float& logit : logits) logit = std::sin(logit);
  const DrawKey key{.seed = 3, .choice = 1, .position = 17};
  const int32_t first = drawn(logits, {}, key);
  drawn(logits, {}, {.seed = 3, .position = 18});
  EXPECT_EQ(drawn(logits, {}, key), first);
  int differing = 0;
  for (uint32_t choice = 0; choice < 10; ++choice)
    differing += drawn(logits, {}, {.seed = 3, .choice = choice, .position = 17}) != first;
  EXPECT_GE(differing, 8);
}

TEST(Penalties, RepeatDividesPositiveAndMultipliesNegative) {
  EXPECT_EQ(drawn({3, 2}, {.temperature = 0, .repeat_penalty = 2}, {}, {0}), 1);       // 3/2 < 2
  EXPECT_EQ(drawn({-1, -1.5f}, {.temperature = 0, .repeat_penalty = 2}, {}, {0}), 1);  // -2 < -1.5
}

TEST(Penalties, PresenceCountsOnceFrequencyEachTime) {
  const std::vector<int32_t> history = {0, 0, 0};
  EXPECT_EQ(drawn({3, 1.5f}, {.temperature = 0, .presence_penalty = 1}, {}, history), 0);
  EXPECT_EQ(drawn({3, 1.5f}, {.temperature = 0, .frequency_penalty = 1}, {}, history), 1);
}

TEST(Penalties, OnlyTheWindowCounts) {
  const std::vector<int32_t> history = {0, 1, 1};
  EXPECT_EQ(drawn({3, 2}, {.temperature = 0, .presence_penalty = 2, .penalty_window = 2}, {}, history), 0);
  EXPECT_EQ(drawn({3, 2}, {.temperature = 0, .presence_penalty = 2, .penalty_window = 0}, {}, history), 0);
  EXPECT_EQ(drawn({3, 2, 1.5f}, {.temperature = 0, .presence_penalty = 2, .penalty_window = 0}, {}, history), 2);
}

TEST(Report, LogProbabilitiesAreTheSoftmaxBeforePenaltiesAndTemperature) {
  const std::vector<float> logits = {0, 1, 2};
  const auto result = draw(logits, {.temperature = 0, .presence_penalty = 9}, {}, std::vector<int32_t>{2}, {}, 2);
  ASSERT_TRUE(result.ok());
  const double partition = std::log(std::exp(0.0) + std::exp(1.0) + std::exp(2.0));
  EXPECT_EQ(result->id, 1);
  EXPECT_NEAR(*result->log_probability, 1 - partition, 1e-6);
  ASSERT_EQ(result->top.size(), 2u);
  EXPECT_EQ(result->top[0].id, 2);
  EXPECT_NEAR(result->top[0].log_probability, 2 - partition, 1e-6);
}

TEST(Settings, OutOfRangeValuesAreNamed) {
  EXPECT_EQ(rejection_site(check({.temperature = -1})), "sample.temperature");
  EXPECT_EQ(rejection_site(check({.top_p = 0})), "sample.top_p");
  EXPECT_EQ(rejection_site(check({.min_p = 2})), "sample.min_p");
  EXPECT_EQ(rejection_site(check({.repeat_penalty = 0})), "sample.repeat_penalty");
  EXPECT_EQ(rejection_site(check({.presence_penalty = std::nan("")})), "sample.presence_penalty");
}

TEST(Uniform, IsSpreadOverTheUnitInterval) {
  std::vector<int> buckets(10);
  for (uint32_t position = 0; position < 10000; ++position)
    ++buckets[static_cast<size_t>(uniform({.seed = 1, .position = position}) * 10)];
  for (const int count : buckets) EXPECT_NEAR(count, 1000, 150);
}

}  // namespace
}  // namespace motley::sample
