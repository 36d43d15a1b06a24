#include "app/compare_statistics.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace motley::app {
namespace {

using testing::ElementsAre;

// Expected values were computed with mpmath 1.3.0 to 50 digits from the definitions:
//   log p(i) = x(i) - log sum exp x,   KL = sum of p_A (log p_A - log p_B),   perplexity = exp of the mean of -log p.
// Logits are multiples of 1/4, so that both computations begin with the same numbers.
constexpr float kA[3][4] = {{1, 2, 3, 4}, {0, -3, 5, 5}, {-0.5, 0.75, 0.75, -2}};
constexpr float kB[3][4] = {{1.5, 2, 2.5, 4.25}, {0.25, -3.5, 5.25, 4.75}, {-0.5, 1, 0.5, -2}};

// A few roundings of a double.
constexpr double kRelative = 1e-13;
// Log-probabilities are known to about 1e-16, and a KL near 1e-13 comes from differences near 1e-6 between them.
constexpr double kRelativeOfTiny = 1e-8;

void expect_close(double got, double expected, double relative = kRelative) {
  EXPECT_NEAR(got, expected, relative * std::abs(expected));
}

std::vector<PositionDifference> three_positions() {
  return {difference_of(kA[0], kB[0], 2), difference_of(kA[1], kB[1], 0), difference_of(kA[2], kB[2], std::nullopt)};
}

PositionDifference with_kl(double kl_nats) {
  PositionDifference position;
  position.kl_nats = kl_nats;
  return position;
}

double kl_of(std::vector<float> a, std::vector<float> b) { return difference_of(a, b, std::nullopt).kl_nats; }

TEST(CompareStatistics, KlOfPositions) {
  const auto positions = three_positions();
  expect_close(positions[0].kl_nats, 0.04622498510543021);
  expect_close(positions[1].kl_nats, 0.030927179443166865);
  expect_close(positions[2].kl_nats, 0.026378636210866058);
}

TEST(CompareStatistics, KlOfNearlyEqualLogitsKeepsItsDigits) {
  EXPECT_EQ(kl_of({1, 2, 3}, {1, 2, 3}), 0);
  const float step = 0x1p-20f;
  expect_close(kl_of({1, 2, 3}, {1, 2, 3 + step}), 1.0127014463197237e-13, kRelativeOfTiny);
  expect_close(kl_of({1, 2, 3}, {1 + step / 2, 2, 3 - step / 2}), 4.824921687926145e-14, kRelativeOfTiny);
}

TEST(CompareStatistics, KlOfFarLogitsNeitherOverflowsNorIsLost) {
  expect_close(kl_of({1000, 0}, {0, 1000}), 1000);
  expect_close(kl_of({0, -2000}, {-2000, 0}), 2000);
  expect_close(kl_of({0, -200, -800}, {0, -900, 0}), 0.69314718055994531);
}

TEST(CompareStatistics, KlDoesNotSeeAShiftOfAllLogits) {
  EXPECT_LT(kl_of({1, 2, 3}, {65, 66, 67}), 1e-25);  // the square of what rounding leaves of 67
  EXPECT_EQ(difference_of(std::vector<float>{1, 2, 3}, std::vector<float>{65, 66, 67}, 0).largest_difference, 64);
}

TEST(CompareStatistics, TheLowestOfTopTokensThatTieCounts) {
  const auto positions = three_positions();
  EXPECT_EQ(positions[1].top_a.id, 2);
  EXPECT_EQ(positions[1].top_b.id, 2);
  EXPECT_EQ(positions[2].top_a.id, 1);
  EXPECT_EQ(difference_of(kB[1], kA[1], std::nullopt).top_b.id, 2);
  expect_close(positions[0].top_a.log_probability, -0.44018969856119533);
  expect_close(positions[0].top_b.log_probability, -0.29498114123370605);
}

TEST(CompareStatistics, NextTokens) {
  const auto positions = three_positions();
  ASSERT_TRUE(positions[0].next);
  expect_close(positions[0].next->log_probability_a, -1.4401896985611953);
  expect_close(positions[0].next->log_probability_b, -2.044981141233706);
  EXPECT_FALSE(positions[2].next);
}

TEST(CompareStatistics, Summary) {
  const auto positions = three_positions();
  const DifferenceSummary summary = summarise(positions, 4);
  EXPECT_EQ(summary.positions, 3u);
  expect_close(summary.kl_nats.mean, 0.034510266919821044);
  expect_close(summary.kl_nats.median, 0.030927179443166865);
  expect_close(summary.kl_nats.p99, 0.045919028992184943);
  expect_close(summary.kl_nats.p99_9, 0.046194389494105683);
  EXPECT_EQ(summary.kl_nats.max, positions[0].kl_nats);
  EXPECT_EQ(summary.same_top1, 3u);
  ASSERT_TRUE(summary.perplexity);
  EXPECT_EQ(summary.perplexity->tokens, 2u);
  expect_close(summary.perplexity->a, 35.461006071368684);
  expect_close(summary.perplexity->b, 43.020245729867573);
  expect_close(summary.perplexity->ratio, 1.2131704792381015);
  expect_close(summary.rms_difference, 0.30618621784789726);  // squares: 0.5625 + 0.4375 + 0.125, of 12 logits
  EXPECT_EQ(summary.largest_difference, 0.5);
  EXPECT_EQ(summary.range_a, 8);  // -3 to 5
  EXPECT_EQ(summary.largest_difference_share(), 0.0625);
}

TEST(CompareStatistics, SummaryWithoutNextTokensHasNoPerplexity) {
  const std::vector<PositionDifference> one = {difference_of(kA[2], kB[2], std::nullopt)};
  const DifferenceSummary summary = summarise(one, 4);
  EXPECT_FALSE(summary.perplexity);
  EXPECT_EQ(summary.kl_nats.median, summary.kl_nats.max);
}

TEST(CompareStatistics, OtherTopTokensAreNotTheSame) {
  const std::vector<PositionDifference> two = {difference_of(kA[0], kA[1], std::nullopt),
                                               difference_of(kA[1], kA[1], std::nullopt)};
  EXPECT_EQ(summarise(two, 4).same_top1_share(), 0.5);
}

TEST(CompareStatistics, EqualLogitsHaveNoRange) {
  const std::vector<float> flat = {2, 2};
  const std::vector<PositionDifference> same = {difference_of(flat, flat, std::nullopt)};
  EXPECT_EQ(summarise(same, 2).largest_difference_share(), 0);
  const std::vector<PositionDifference> other = {difference_of(flat, std::vector<float>{2, 3}, std::nullopt)};
  EXPECT_TRUE(std::isinf(summarise(other, 2).largest_difference_share()));
}

// numpy.quantile([1, 2, 4, 8, 16], q), whose default method is "linear".
TEST(CompareStatistics, QuantilesAreLinearBetweenValues) {
  const std::vector<double> values = {1, 2, 4, 8, 16};
  EXPECT_EQ(quantile(values, 0), 1);
  EXPECT_EQ(quantile(values, 0.25), 2);
  EXPECT_EQ(quantile(values, 0.5), 4);
  EXPECT_DOUBLE_EQ(quantile(values, 0.6), 5.6);
  EXPECT_DOUBLE_EQ(quantile(values, 0.99), 15.68);
  EXPECT_EQ(quantile(values, 1), 16);
  EXPECT_EQ(quantile(std::vector<double>{3}, 0.99), 3);
}

TEST(CompareStatistics, HistogramCountsEveryPositionOnce) {
  const std::vector<PositionDifference> positions = {with_kl(0),      with_kl(9e-13),  with_kl(1e-3),
                                                     with_kl(3.1e-3), with_kl(3.2e-3), with_kl(1e5)};
  const auto bins = kl_histogram(positions);
  EXPECT_EQ(bins.size(), 30u);
  EXPECT_EQ(bins.front().from, 0);
  EXPECT_EQ(bins.front().count, 2u);
  EXPECT_EQ(bins.back().from, 100);
  EXPECT_EQ(bins.back().to, std::numeric_limits<double>::infinity());
  EXPECT_EQ(bins.back().count, 1u);
  uint64_t total = 0;
  for (size_t i = 0; i < bins.size(); ++i) {
    total += bins[i].count;
    EXPECT_EQ(bins[i].from, i == 0 ? 0 : bins[i - 1].to);
  }
  EXPECT_EQ(total, positions.size());
  const auto edge = std::find_if(bins.begin(), bins.end(), [](const KlBin& bin) { return bin.from == 1e-3; });
  ASSERT_NE(edge, bins.end());
  EXPECT_EQ(edge->count, 2u) << "from the edge itself on";
}

TEST(CompareStatistics, OccupiedBinsKeepTheEmptyOnesBetween) {
  const std::vector<PositionDifference> positions = {with_kl(2e-3), with_kl(2e-2)};
  const auto bins = kl_histogram(positions);
  const auto part = occupied(bins);
  ASSERT_EQ(part.size(), 3u);
  EXPECT_EQ(part[1].count, 0u);
  const auto nothing = kl_histogram({});
  EXPECT_TRUE(occupied(nothing).empty());
}

TEST(CompareStatistics, WorstPositionsComeLargestFirstAndTiesInOrder) {
  const std::vector<PositionDifference> positions = {with_kl(1), with_kl(3), with_kl(2), with_kl(3)};
  EXPECT_THAT(worst_positions(positions, 3), ElementsAre(1, 3, 2));
  EXPECT_EQ(worst_positions(positions, 9).size(), 4u);
}

TEST(CompareStatistics, WhatIsNoNumberIsSeen) {
  EXPECT_TRUE(all_finite(kA[0]));
  EXPECT_FALSE(all_finite(std::vector<float>{0, std::numeric_limits<float>::quiet_NaN()}));
  EXPECT_FALSE(all_finite(std::vector<float>{-std::numeric_limits<float>::infinity(), 0}));
}

}  // namespace
}  // namespace motley::app
