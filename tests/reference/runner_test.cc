// What Runner promises besides numbers: malformed batches change nothing, sampling follows its settings, hidden states
// come out.

#include <algorithm>

#include "gtest/gtest.h"
#include "harness.h"

namespace motley::testing {
namespace {

class RunnerTest : public ::testing::Test {
 protected:
  exec::Row row(uint32_t position, std::vector<int32_t> ids) {
    return {.sequence = sequence_,
            .position = position,
            .ids = std::move(ids),
            .outputs = exec::Outputs::kLast,
            .kind = exec::OutputKind::kToken,
            .sampling = {.temperature = 0},
            .report_top = {},
            .history = {},
            .mask = {}};
  }
  std::string site_of(std::vector<exec::Row> rows) {
    return rejection_site(runner_->step({.rows = std::move(rows)}).get().status());
  }

  std::unique_ptr<exec::Runner> runner_ =
      make_runner(load_model("tests/data/models/gguf-Q4_1/model.gguf"), exec::Precision::kFast);
  exec::SequenceId sequence_ = *runner_->create(16);
};

TEST_F(RunnerTest, MalformedBatchesAreNamedAndChangeNothing) {
  EXPECT_EQ(site_of({row(0, {})}), "step.no_ids");
  EXPECT_EQ(site_of({row(1, {5})}), "step.position");
  EXPECT_EQ(site_of({row(0, {512})}), "step.id");
  EXPECT_EQ(site_of({row(0, {-1})}), "step.id");
  EXPECT_EQ(site_of({row(0, {1}), row(0, {2})}), "step.sequence_twice");
  EXPECT_EQ(site_of({row(0, std::vector<int32_t>(513, 1))}), "step.context");
  exec::Row unknown = row(0, {1});
  unknown.sequence = 99;
  EXPECT_EQ(runner_->step({.rows = {unknown}}).get().status().code(), absl::StatusCode::kNotFound);
  EXPECT_TRUE(runner_->step({.rows = {row(0, {1})}}).get().ok());
}

TEST_F(RunnerTest, GreedyTokenIsTheLargestLogit) {
  exec::Row logits_row = row(0, {1, 2, 3});
  logits_row.kind = exec::OutputKind::kLogits;
  const auto logits = runner_->step({.rows = {logits_row}}).get()->rows[0].logits;
  ASSERT_TRUE(runner_->truncate(sequence_, 0).ok());
  const auto tokens = runner_->step({.rows = {row(0, {1, 2, 3})}}).get()->rows[0].tokens;
  ASSERT_EQ(tokens.size(), 1u);
  EXPECT_EQ(tokens[0].id, std::max_element(logits.begin(), logits.end()) - logits.begin());
}

TEST_F(RunnerTest, AMaskThatArrivesLateIsStillObeyed) {
  std::promise<std::vector<uint32_t>> promise;
  exec::Row masked = row(0, {1, 2, 3});
  masked.mask = promise.get_future().share();
  std::vector<uint32_t> mask(512 / 32);
  mask[300 / 32] = 1u << (300 % 32);
  promise.set_value(mask);
  EXPECT_EQ(runner_->step({.rows = {masked}}).get()->rows[0].tokens[0].id, 300);
}

TEST_F(RunnerTest, HiddenStatesHaveTheWidthOfTheStream) {
  exec::Row hidden = row(0, {1, 2, 3});
  hidden.kind = exec::OutputKind::kHidden;
  hidden.outputs = exec::Outputs::kAll;
  EXPECT_EQ(runner_->step({.rows = {hidden}}).get()->rows[0].hidden.size(), 3u * runner_->facts().hidden);
}

TEST_F(RunnerTest, TheContextIsWhatTheModelHas) {
  EXPECT_EQ(runner_->limits().context_tokens, 512u);
  EXPECT_EQ(runner_->create(10000).status().code(), absl::StatusCode::kResourceExhausted);
}

TEST_F(RunnerTest, CostCountsWholePages) {
  EXPECT_EQ(runner_->cost(1).kv_bytes, runner_->cost(64).kv_bytes);
  EXPECT_EQ(runner_->cost(65).kv_bytes, 2 * runner_->cost(64).kv_bytes);
  EXPECT_EQ(runner_->cost(64).kv_bytes, 64 * runner_->facts().kv_bytes_per_token);
}

}  // namespace
}  // namespace motley::testing
