// Fast arithmetic stays close to exact on real weights, whatever the storage format.

#include "gtest/gtest.h"
#include "harness.h"

namespace motley::testing {
namespace {

// Nats a token; 2.1e-6 is the most that is measured. Published 4-bit quantisers lose ten thousand times as much.
constexpr double kMaxDivergence = 1e-5;

class PrecisionTest : public ::testing::TestWithParam<Reference> {};

TEST_P(PrecisionTest, FastStaysCloseToExact) {
  const auto model = load_model(GetParam().model, GetParam().overrides);
  ASSERT_NE(model, nullptr);
  const Matrix exact = run_logits(*make_runner(model, exec::Precision::kExact), GetParam().ids, 512);
  const Matrix fast = run_logits(*make_runner(model, exec::Precision::kFast), GetParam().ids, 512);
  EXPECT_LE(mean_divergence(exact, fast), kMaxDivergence);
}

INSTANTIATE_TEST_SUITE_P(Checkpoints, PrecisionTest, ::testing::ValuesIn(all_references()), reference_name);

}  // namespace
}  // namespace motley::testing
