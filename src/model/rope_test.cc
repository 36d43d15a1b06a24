#include <cmath>

#include "gtest/gtest.h"
#include "model/spec.h"

namespace motley::model {
namespace {

// Limits of the published definitions. That whole networks agree with transformers is shown by the logits in
// tests/data/reference.
TEST(RopeFrequencies, Unscaled) {
  const auto f = rope_frequencies({.theta = 10000, .rotary_dims = 8, .scaling = {}}).radians_per_position;
  ASSERT_EQ(f.size(), 4u);
  EXPECT_DOUBLE_EQ(f[0], 1.0);
  EXPECT_NEAR(f[1], 0.1, 1e-15);
  EXPECT_NEAR(f[3], 0.001, 1e-15);
}

TEST(RopeFrequencies, LinearDividesAll) {
  const auto f = rope_frequencies({.theta = 10000, .rotary_dims = 8, .scaling = RopeLinear{4}}).radians_per_position;
  EXPECT_DOUBLE_EQ(f[0], 0.25);
  EXPECT_NEAR(f[3], 0.00025, 1e-15);
}

// Llama 3.1's own numbers: short waves stay, long ones are divided by 8, the ramp lies between.
TEST(RopeFrequencies, Llama3KeepsShortWavesAndStretchesLongOnes) {
  const Rope rope{.theta = 500000, .rotary_dims = 128, .scaling = RopeLlama3{8, 1, 4, 8192}};
  const auto scaled = rope_frequencies(rope).radians_per_position;
  const auto plain = rope_frequencies({.theta = 500000, .rotary_dims = 128, .scaling = {}}).radians_per_position;
  for (size_t i = 0; i < scaled.size(); ++i) {
    const double wavelength = 2 * M_PI / plain[i];
    if (wavelength < 8192.0 / 4) {
      EXPECT_EQ(scaled[i], plain[i]) << i;
    } else if (wavelength > 8192.0) {
      EXPECT_DOUBLE_EQ(scaled[i], plain[i] / 8) << i;
    } else {
      EXPECT_LT(scaled[i], plain[i]) << i;
      EXPECT_GT(scaled[i], plain[i] / 8) << i;
    }
  }
}

TEST(RopeFrequencies, DivisorsDivideEachPair) {
  const auto f =
      rope_frequencies({.theta = 10000, .rotary_dims = 4, .scaling = RopeDivisors{{2.0f, 4.0f}}}).radians_per_position;
  EXPECT_DOUBLE_EQ(f[0], 0.5);
  EXPECT_NEAR(f[1], 0.0025, 1e-15);
}

TEST(RopeFrequencies, YarnKeepsFastPairsDividesSlowOnesAndScalesTheMagnitude) {
  const Rope rope{.theta = 10000,
                  .rotary_dims = 64,
                  .scaling = RopeYarn{.factor = 4, .attention_factor = 1.1386, .original_context = 2048}};
  const auto scaled = rope_frequencies(rope);
  EXPECT_DOUBLE_EQ(scaled.radians_per_position.front(), 1.0);
  EXPECT_NEAR(scaled.radians_per_position.back(), std::pow(10000.0, -62.0 / 64) / 4, 1e-12);
  EXPECT_DOUBLE_EQ(scaled.magnitude, 1.1386);
}

}  // namespace
}  // namespace motley::model
