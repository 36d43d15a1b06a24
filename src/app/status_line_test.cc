#include "app/status_line.h"

#include "gtest/gtest.h"

namespace motley::app {
namespace {

TEST(ProgressBar, ShowsShareRateAndTimeLeft) {
  EXPECT_EQ(progress_bar({.done = 128, .total = 512, .elapsed_s = 2}),
            "████░░░░░░░░░░░░ 128/512 tokens, 64.0 tokens/s, 0:06 left");
  EXPECT_EQ(progress_bar({.done = 512, .total = 512, .elapsed_s = 8}),
            "████████████████ 512/512 tokens, 64.0 tokens/s, 0:00 left");
}

TEST(ProgressBar, ShowsHours) {
  EXPECT_EQ(progress_bar({.done = 1, .total = 3724, .elapsed_s = 1}),
            "░░░░░░░░░░░░░░░░ 1/3724 tokens, 1.0 tokens/s, 1:02:03 left");
}

TEST(ProgressBar, KnowsNoRateBeforeAnythingIsDone) {
  EXPECT_EQ(progress_bar({.done = 0, .total = 9, .elapsed_s = 5}), "░░░░░░░░░░░░░░░░ 0/9 tokens");
  EXPECT_EQ(progress_bar({.done = 0, .total = 0, .elapsed_s = 0}), "████████████████ 0/0 tokens");
}

}  // namespace
}  // namespace motley::app
