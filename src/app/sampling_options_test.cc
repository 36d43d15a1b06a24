#include "app/sampling_options.h"

#include "app/exit_status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace motley::app {
namespace {

std::string source_of(const Sampling& sampling, std::string_view name) {
  for (const Sampling::Line& line : sampling.lines)
    if (line.name == name) return line.source;
  return "";
}

model::GenerationDefaults recommending(double temperature) {
  model::GenerationDefaults defaults;
  defaults.source = "folder/generation_config.json";
  defaults.temperature = temperature;
  return defaults;
}

TEST(SamplingOptions, ChoosesForModelsThatRecommendNothing) {
  const auto sampling = resolve({}, {});
  ASSERT_TRUE(sampling.ok()) << sampling.status();
  EXPECT_EQ(sampling->settings.temperature, 0.8);
  EXPECT_EQ(sampling->settings.top_k, 40u);
  EXPECT_EQ(sampling->settings.top_p, 0.95);
  EXPECT_EQ(sampling->settings.min_p, 0.05);
  EXPECT_EQ(sampling->settings.repeat_penalty, 1);
}

TEST(SamplingOptions, LeavesStepsOffThatARecommendationDoesNotMention) {
  const auto sampling = resolve({}, recommending(0.6));
  ASSERT_TRUE(sampling.ok()) << sampling.status();
  EXPECT_EQ(sampling->settings.temperature, 0.6);
  EXPECT_EQ(sampling->settings.top_k, 0u);
  EXPECT_EQ(sampling->settings.top_p, 1);
  EXPECT_EQ(source_of(*sampling, "temperature"), "generation_config.json");
  EXPECT_EQ(source_of(*sampling, "top_k"), "not in generation_config.json");
}

TEST(SamplingOptions, APenaltyAloneIsNoRecommendationHowToDraw) {
  model::GenerationDefaults defaults;
  defaults.source = "generation_config.json";
  defaults.repetition_penalty = 1.1;
  const auto sampling = resolve({}, defaults);
  ASSERT_TRUE(sampling.ok()) << sampling.status();
  EXPECT_EQ(sampling->settings.repeat_penalty, 1.1);
  EXPECT_EQ(sampling->settings.temperature, 0.8);
}

TEST(SamplingOptions, NoSamplingMeansGreedy) {
  model::GenerationDefaults defaults = recommending(0.6);
  defaults.do_sample = false;
  const auto sampling = resolve({}, defaults);
  ASSERT_TRUE(sampling.ok()) << sampling.status();
  EXPECT_EQ(sampling->settings.temperature, 0);
}

TEST(SamplingOptions, AFlagWins) {
  SamplingOptions options;
  options.temperature = 0.1;
  options.seed = 12;
  const auto sampling = resolve(options, recommending(0.6));
  ASSERT_TRUE(sampling.ok()) << sampling.status();
  EXPECT_EQ(sampling->settings.temperature, 0.1);
  EXPECT_EQ(sampling->settings.seed, 12u);
  EXPECT_EQ(source_of(*sampling, "temperature"), "set by you");
}

TEST(SamplingOptions, DrawsAnotherSeedEveryTime) {
  EXPECT_NE(resolve({}, {})->settings.seed, resolve({}, {})->settings.seed);
}

TEST(SamplingOptions, KnowsThatMinusOneMeansAllInSomeFiles) {
  model::GenerationDefaults defaults = recommending(0.6);
  defaults.top_k = -1;
  ASSERT_TRUE(resolve({}, defaults).ok());
  EXPECT_EQ(resolve({}, defaults)->settings.top_k, 0u);
  defaults.top_k = -2;
  EXPECT_EQ(rejection_site(resolve({}, defaults).status()), "app.top_k");
}

TEST(SamplingOptions, SetsByNameAndTakesBack) {
  SamplingOptions options;
  EXPECT_TRUE(set_sampling_option(options, "top_p", "0.5").ok());
  EXPECT_TRUE(set_sampling_option(options, "top_k", "7").ok());
  EXPECT_EQ(options.top_p, 0.5);
  EXPECT_EQ(options.top_k, 7u);
  EXPECT_TRUE(set_sampling_option(options, "top_p", "default").ok());
  EXPECT_EQ(options.top_p, std::nullopt);
  EXPECT_EQ(set_sampling_option(options, "top_k", "-1").code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(set_sampling_option(options, "warmth", "1").code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace motley::app
