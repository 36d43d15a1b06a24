// One reduction order: a row's result depends neither on the chunk, the batch and the threads it was computed in, nor
// on the instruction set. Bit for bit, in exact and in fast arithmetic.

#include <cstring>

#include "gtest/gtest.h"
#include "harness.h"
#include "kernels/table.h"

namespace motley::testing {
namespace {

// One model for each kind of panel: integers with biases, integers with a zero point, super-blocks, floats.
const char* const kModels[] = {"tests/data/models/mlx-mixed_3_6", "tests/data/models/gguf-Q4_0/model.gguf",
                               "tests/data/models/gguf-Q6_K-pure/model.gguf", "tests/data/models/hf-f16"};

std::vector<int32_t> some_ids(size_t count) {
  std::vector<int32_t> ids;
  for (size_t i = 0; i < count; ++i) ids.push_back(static_cast<int32_t>((i * i * 31 + 7 * i + 3) % 512));
  return ids;
}

bool same_bits(const Matrix& a, const Matrix& b) {
  return a.values.size() == b.values.size() &&
         std::memcmp(a.values.data(), b.values.data(), a.values.size() * sizeof(float)) == 0;
}

class InvarianceTest : public ::testing::TestWithParam<std::tuple<const char*, exec::Precision>> {
 protected:
  std::shared_ptr<const model::Model> model_ = load_model(std::get<0>(GetParam()));
  exec::Precision precision_ = std::get<1>(GetParam());
  std::vector<int32_t> ids_ = some_ids(130);  // over two pages of keys
};

TEST_P(InvarianceTest, ChunksGiveTheSameBits) {
  const auto runner = make_runner(model_, precision_);
  const Matrix whole = run_logits(*runner, ids_, 512);
  for (const uint32_t chunk : {1u, 7u, 64u}) EXPECT_TRUE(same_bits(whole, run_logits(*runner, ids_, chunk))) << chunk;
}

TEST_P(InvarianceTest, ThreadsGiveTheSameBits) {
  const Matrix one = run_logits(*make_runner(model_, precision_, "", 1), ids_, 64);
  EXPECT_TRUE(same_bits(one, run_logits(*make_runner(model_, precision_, "", 3), ids_, 64)));
}

TEST_P(InvarianceTest, InstructionSetsGiveTheSameBits) {
  const Matrix scalar = run_logits(*make_runner(model_, precision_, "scalar"), ids_, 64);
  for (const kernels::KernelTable* table : kernels::all_tables()) {
    if (!table->supported()) continue;
    EXPECT_TRUE(same_bits(scalar, run_logits(*make_runner(model_, precision_, std::string(table->name)), ids_, 64)))
        << table->name;
  }
}

exec::Row logits_row(exec::SequenceId sequence, uint32_t position, std::vector<int32_t> ids) {
  return {.sequence = sequence,
          .position = position,
          .ids = std::move(ids),
          .outputs = exec::Outputs::kAll,
          .kind = exec::OutputKind::kLogits,
          .sampling = {},
          .report_top = {},
          .history = {},
          .mask = {}};
}

TEST_P(InvarianceTest, ABatchGivesEachRowWhatItGetsAlone) {
  const auto runner = make_runner(model_, precision_);
  const std::vector<int32_t> first(ids_.begin(), ids_.begin() + 9), second(ids_.begin() + 40, ids_.begin() + 41);
  const Matrix first_alone = run_logits(*runner, first, 512), second_alone = run_logits(*runner, second, 512);
  const auto a = runner->create(9), b = runner->create(1);
  const auto results = runner->step({.rows = {logits_row(*a, 0, first), logits_row(*b, 0, second)}}).get();
  ASSERT_TRUE(results.ok()) << results.status();
  EXPECT_EQ(results->rows[0].logits, first_alone.values);
  EXPECT_EQ(results->rows[1].logits, second_alone.values);
}

TEST_P(InvarianceTest, ForkTruncateAndRestoreContinueAsIfNothingHadHappened) {
  const auto runner = make_runner(model_, precision_);
  const std::vector<int32_t> prefix(ids_.begin(), ids_.begin() + 70), rest(ids_.begin() + 70, ids_.begin() + 80);
  std::vector<int32_t> both = prefix;
  both.insert(both.end(), rest.begin(), rest.end());
  const Matrix whole = run_logits(*runner, both, 512);
  const std::vector<float> expected(whole.row(70), whole.row(70) + 10 * whole.cols);

  const auto parent = runner->create(80);
  ASSERT_TRUE(runner->step({.rows = {logits_row(*parent, 0, both)}}).get().ok());
  const auto child = runner->fork(*parent, 70);
  ASSERT_TRUE(child.ok());
  ASSERT_TRUE(runner->truncate(*parent, 70).ok());
  const auto snapshot = runner->snapshot(*parent);
  ASSERT_TRUE(snapshot.ok());
  EXPECT_EQ(runner->step({.rows = {logits_row(*child, 70, rest)}}).get()->rows[0].logits, expected);
  EXPECT_EQ(runner->step({.rows = {logits_row(*parent, 70, rest)}}).get()->rows[0].logits, expected);
  ASSERT_TRUE(runner->drop(*parent).ok());
  ASSERT_TRUE(runner->drop(*child).ok());
  const auto restored = runner->restore(*snapshot);
  ASSERT_TRUE(restored.ok()) << restored.status();
  EXPECT_EQ(runner->step({.rows = {logits_row(*restored, 70, rest)}}).get()->rows[0].logits, expected);
}

INSTANTIATE_TEST_SUITE_P(Models, InvarianceTest,
                         ::testing::Combine(::testing::ValuesIn(kModels),
                                            ::testing::Values(exec::Precision::kExact, exec::Precision::kFast)));

}  // namespace
}  // namespace motley::testing
