// Every small checkpoint of tests/data/models against the logits that an independent program gave for it
// (tests/data/README.md).

#include "gtest/gtest.h"
#include "harness.h"

namespace motley::testing {
namespace {

class ReferenceTest : public ::testing::TestWithParam<Reference> {};

TEST_P(ReferenceTest, ExactLogitsAgree) {
  const Reference& reference = GetParam();
  const Matrix expected = read_npy(reference.logits);
  const auto model = load_model(reference.model, reference.overrides);
  ASSERT_NE(model, nullptr);
  const auto runner = make_runner(model, exec::Precision::kExact);
  ASSERT_NE(runner, nullptr);
  const Matrix got = run_logits(*runner, reference.ids, 512);
  const double difference = relative_difference(expected, got);
  RecordProperty("difference_of_range", std::to_string(difference));
  EXPECT_LE(difference, reference.tolerance);
}

INSTANTIATE_TEST_SUITE_P(Checkpoints, ReferenceTest, ::testing::ValuesIn(all_references()), reference_name);

}  // namespace
}  // namespace motley::testing
