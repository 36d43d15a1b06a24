#include "engine/sequence.h"

#include <numeric>

#include "engine/testing/fake_runner.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace motley::engine {
namespace {

using ::testing::ElementsAre;
using testing::FakeRunner;
using ::testing::IsEmpty;

const std::atomic<bool> kNeverCancelled{false};

// The sum of everything before, so that a missing, doubled or stale token shows.
int32_t sum(const std::vector<int32_t>& ids) { return std::accumulate(ids.begin(), ids.end(), 0); }

std::vector<int32_t> counting(int32_t from, int32_t to) {
  std::vector<int32_t> ids(static_cast<size_t>(to - from));
  std::iota(ids.begin(), ids.end(), from);
  return ids;
}

std::vector<size_t> row_lengths(const FakeRunner& runner) {
  std::vector<size_t> lengths;
  lengths.reserve(runner.rows.size());
  for (const exec::Row& row : runner.rows) lengths.push_back(row.ids.size());
  return lengths;
}

TEST(Sequence, PrefillsInStepsThatTheRunnerTakes) {
  FakeRunner runner({.context_tokens = 64, .max_step_tokens = 8}, sum);
  Sequence sequence(runner);
  std::vector<uint32_t> done;
  const auto ids = counting(1, 21);
  const auto prefill = sequence.prefill(ids, {}, kNeverCancelled, [&](uint32_t so_far, uint32_t total) {
    EXPECT_EQ(total, 20u);
    done.push_back(so_far);
  });
  ASSERT_TRUE(prefill.ok()) << prefill.status();
  EXPECT_EQ(prefill->token, 210);
  EXPECT_EQ(prefill->computed_tokens, 20u);
  EXPECT_THAT(row_lengths(runner), ElementsAre(8, 8, 4));
  EXPECT_THAT(done, ElementsAre(8, 16, 20));
  EXPECT_EQ(runner.rows[0].outputs, exec::Outputs::kNone);
  EXPECT_EQ(runner.rows[2].outputs, exec::Outputs::kLast);
  EXPECT_EQ(sequence.ids(), ids);
}

TEST(Sequence, ComputesOnlyWhatChanged) {
  FakeRunner runner({}, sum);
  Sequence sequence(runner);
  ASSERT_TRUE(sequence.prefill(std::vector<int32_t>{1, 2, 3, 4, 5}, {}, kNeverCancelled, nullptr).ok());
  ASSERT_EQ(*sequence.step(15, {}), 30);
  runner.rows.clear();

  const auto prefill = sequence.prefill(std::vector<int32_t>{1, 2, 3, 9, 9}, {}, kNeverCancelled, nullptr);
  ASSERT_TRUE(prefill.ok()) << prefill.status();
  EXPECT_EQ(prefill->token, 24);
  EXPECT_EQ(prefill->computed_tokens, 2u);
  ASSERT_EQ(runner.rows.size(), 1u);
  EXPECT_EQ(runner.rows[0].position, 3u);
  EXPECT_THAT(runner.rows[0].ids, ElementsAre(9, 9));
}

TEST(Sequence, ComputesTheLastTokenAgainWhenNothingChanged) {
  FakeRunner runner({}, sum);
  Sequence sequence(runner);
  ASSERT_TRUE(sequence.prefill(std::vector<int32_t>{1, 2, 3}, {}, kNeverCancelled, nullptr).ok());
  const auto again = sequence.prefill(std::vector<int32_t>{1, 2, 3}, {}, kNeverCancelled, nullptr);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->token, 6);
  EXPECT_EQ(again->computed_tokens, 1u);
}

TEST(Sequence, StartsOverWhenStateCannotBeRolledBack) {
  FakeRunner runner({.rollback = FakeRunner::Options::Rollback::kNowhere}, sum);
  Sequence sequence(runner);
  ASSERT_TRUE(sequence.prefill(std::vector<int32_t>{1, 2, 3}, {}, kNeverCancelled, nullptr).ok());
  const auto again = sequence.prefill(std::vector<int32_t>{1, 2, 5}, {}, kNeverCancelled, nullptr);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->token, 8);
  EXPECT_EQ(again->computed_tokens, 3u);
  EXPECT_EQ(runner.live_sequences(), 1u);
}

TEST(Sequence, DropsItsSequence) {
  FakeRunner runner({}, sum);
  {
    Sequence sequence(runner);
    ASSERT_TRUE(sequence.prefill(std::vector<int32_t>{1}, {}, kNeverCancelled, nullptr).ok());
    EXPECT_EQ(runner.live_sequences(), 1u);
  }
  EXPECT_EQ(runner.live_sequences(), 0u);
}

TEST(Sequence, RefusesAnEmptyPromptAndOneThatFillsTheContext) {
  FakeRunner runner({.context_tokens = 4}, sum);
  Sequence sequence(runner);
  EXPECT_EQ(sequence.prefill({}, {}, kNeverCancelled, nullptr).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(sequence.prefill(counting(0, 4), {}, kNeverCancelled, nullptr).status().code(),
            absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(sequence.prefill(counting(0, 3), {}, kNeverCancelled, nullptr).ok());
}

TEST(Sequence, KeepsWhatWasComputedBeforeACancellation) {
  FakeRunner runner({.max_step_tokens = 4}, sum);
  Sequence sequence(runner);
  std::atomic<bool> cancelled{false};
  runner.after_step = [&] { cancelled = runner.rows.size() == 2; };
  const auto cut = sequence.prefill(counting(0, 12), {}, cancelled, nullptr);
  ASSERT_TRUE(cut.ok()) << cut.status();
  EXPECT_EQ(cut->token, std::nullopt);
  EXPECT_EQ(sequence.ids(), counting(0, 8));

  runner.after_step = nullptr;
  const auto rest = sequence.prefill(counting(0, 12), {}, kNeverCancelled, nullptr);
  ASSERT_TRUE(rest.ok()) << rest.status();
  EXPECT_EQ(rest->token, 66);
  EXPECT_EQ(rest->computed_tokens, 4u);
}

TEST(Sequence, GivesPenaltiesTheLastTokensAndNothingWithoutPenalties) {
  FakeRunner runner({}, sum);
  Sequence sequence(runner);
  ASSERT_TRUE(sequence.prefill(std::vector<int32_t>{1, 2, 3}, {}, kNeverCancelled, nullptr).ok());
  EXPECT_THAT(runner.rows.back().history, IsEmpty());
  sample::Settings penalised;
  penalised.repeat_penalty = 1.1;
  penalised.penalty_window = 2;
  ASSERT_TRUE(sequence.step(7, penalised).ok());
  EXPECT_THAT(runner.rows.back().history, ElementsAre(3, 7));
  penalised.penalty_window = 0;
  ASSERT_TRUE(sequence.step(8, penalised).ok());
  EXPECT_THAT(runner.rows.back().history, ElementsAre(1, 2, 3, 7, 8));
}

}  // namespace
}  // namespace motley::engine
