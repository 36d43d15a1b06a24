// Fast arithmetic stays close to exact on real weights, whatever the storage format.

#include "gtest/gtest.h"
#include "harness.h"

namespace motley::testing {
namespace {

// Nats a token. Published 4-bit quantisers lose ten times as much. int8 activations in groups of 32 give 1e-4 to 1.5e-3
// on these two-layer cuts of a real model, which are rougher than whole models.
constexpr double kMaxDivergence = 2e-3;
// Cut to 2 bits they are rougher still: 2.1e-3 measured over 64 positions.
constexpr double kMaxDivergence2Bit = 3e-3;

class PrecisionTest : public ::testing::TestWithParam<Reference> {};

TEST_P(PrecisionTest, FastStaysCloseToExact) {
  const auto model = load_model(GetParam().model, GetParam().overrides);
  ASSERT_NE(model, nullptr);
  const Matrix exact = run_logits(*make_runner(model, exec::Precision::kExact), GetParam().ids, 512);
  const Matrix fast = run_logits(*make_runner(model, exec::Precision::kFast), GetParam().ids, 512);
  const bool two_bits = GetParam().name.find("2bit") != std::string::npos;
  EXPECT_LE(mean_divergence(exact, fast), two_bits ? kMaxDivergence2Bit : kMaxDivergence);
}

INSTANTIATE_TEST_SUITE_P(Checkpoints, PrecisionTest, ::testing::ValuesIn(all_references()), reference_name);

}  // namespace
}  // namespace motley::testing
