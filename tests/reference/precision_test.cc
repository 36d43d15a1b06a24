// Fast arithmetic stays close to exact on real weights, whatever the storage format.

#include "gtest/gtest.h"
#include "harness.h"

namespace motley::testing {
namespace {

// Nats a token. Published 4-bit quantisers lose ten times as much; int8 activations in groups measured here give 1e-4 to 1e-3
// on these two-layer cuts of a real model, which are rougher than whole models.
constexpr double kMaxDivergence = 2e-3;

class PrecisionTest : public ::testing::TestWithParam<Reference> {};

TEST_P(PrecisionTest, FastStaysCloseToExact) {
  const auto model = load_model(GetParam().model, GetParam().overrides);
  ASSERT_NE(model, nullptr);
  const Matrix exact = run_logits(*make_runner(model, exec::Precision::kExact), GetParam().ids, 512);
  const Matrix fast = run_logits(*make_runner(model, exec::Precision::kFast), GetParam().ids, 512);
  EXPECT_LE(mean_divergence(exact, fast), kMaxDivergence);
}

INSTANTIATE_TEST_SUITE_P(Checkpoints, PrecisionTest, ::testing::ValuesIn(all_references()),
                         reference_name);

}  // namespace
}  // namespace motley::testing
