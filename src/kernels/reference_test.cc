// Every slot of every table against plain double-precision mathematics, so that a wrong definition cannot pass by being
// wrong everywhere alike.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "gtest/gtest.h"
#include "kernels/tables_under_test.h"
#include "kernels/testing.h"

namespace motley::kernels {
namespace {

using testing::Random;

// One f32 rounding, relative.
constexpr double kUnit = 0x1p-24;

class ReferenceTest : public ::testing::TestWithParam<const KernelTable*> {
 protected:
  const KernelTable& table() const { return *GetParam(); }
  Random random_{11};
};

// y(t, n) in double, and the sum of the magnitudes of its terms, to which every tolerance is relative.
struct Dot {
  double value = 0, magnitude = 0;
};
Dot dot(const std::vector<float>& weights, const float* x) {
  Dot result;
  for (size_t k = 0; k < weights.size(); ++k) {
    result.value += double{weights[k]} * double{x[k]};
    result.magnitude += std::fabs(double{weights[k]} * double{x[k]});
  }
  return result;
}

struct Problem {
  quant::EncodedMatrix stored;
  testing::Panels panels;
  testing::Activations x;
  uint32_t tokens;
};

class MatmulReferenceTest : public ReferenceTest {
 protected:
  Problem make(const quant::StorageFormat& format, uint64_t rows, uint64_t cols, uint32_t tokens) {
    quant::EncodedMatrix stored = testing::random_matrix(format, rows, cols, random_);
    testing::Panels panels(stored.view());
    testing::Activations x(table(), panels.matrix().format, cols, tokens,
                           testing::random_activations(tokens * cols, random_));
    return {std::move(stored), std::move(panels), std::move(x), tokens};
  }

  // Compares y with what `activations` give; `unit` is the error allowed relative to the magnitude of an output's
  // terms.
  static void expect_near(const Problem& problem, const std::vector<float>& activations, const std::vector<float>& y,
                          double unit) {
    const uint64_t cols = problem.stored.cols;
    std::vector<float> weights(cols);
    for (uint64_t n = 0; n < problem.stored.rows; ++n) {
      quant::decode_row(problem.stored.view(), n, 0, weights);
      for (uint32_t t = 0; t < problem.tokens; ++t) {
        const Dot expected = dot(weights, &activations[t * cols]);
        ASSERT_NEAR(expected.value, y[t * problem.stored.rows + n], unit * expected.magnitude + 1e-30)
            << tensor::describe(problem.stored.format) << " row " << n << " token " << t;
      }
    }
  }

  static constexpr uint64_t kRows = 35;
};

// Chains of K roundings of partial sums that stay below the sum of magnitudes. Affine formats add code * x and bias *
// sum x apart, so their terms are larger than the weights' (|q s| + |b| against |q s + b|); 64 covers codes and biases
// of random_matrix.
constexpr double kExactFactor = 64;

TEST_P(MatmulReferenceTest, ExactIsTheProductOfDecodedWeights) {
  for (const quant::StorageFormat& format : testing::all_formats()) {
    const uint64_t cols = testing::smallest_cols(format) * 3;
    const Problem problem = make(format, kRows, cols, 7);
    std::vector<float> y(7 * kRows);
    table().matmul_exact(problem.panels.matrix(), problem.x.floats(), {0, 3}, {y.data(), kRows});
    expect_near(problem, problem.x.values(), y, static_cast<double>(cols) * kUnit * kExactFactor);
  }
}

// The integer path equals the exact product with the activations it was given, rounded to their codes: only f32
// roundings remain.
TEST_P(MatmulReferenceTest, FastIsTheProductWithTheRoundedActivations) {
  for (const quant::StorageFormat& format : testing::all_formats()) {
    const uint64_t cols = testing::smallest_cols(format) * 3;
    const Problem problem = make(format, kRows, cols, 7);
    const QuantizedRows x = problem.x.quantized();
    if (x.group == 0) continue;
    std::vector<float> rounded(7 * cols), y(7 * kRows);
    for (size_t i = 0; i < rounded.size(); ++i)
      rounded[i] = static_cast<float>(x.codes[i / cols * x.stride + i % cols]) * x.scales[i / x.group];
    table().matmul_fast(problem.panels.matrix(), x, {0, 3}, {y.data(), kRows});
    expect_near(problem, rounded, y, static_cast<double>(cols) * kUnit * kExactFactor);
  }
}

// Half a step of 1/16256 of the group's largest magnitude, plus f32 roundings.
TEST_P(ReferenceTest, QuantizedActivationsAreWithinHalfAStep) {
  for (uint32_t group : {32u, 64u}) {
    const size_t cols = group * 9;
    const std::vector<float> x = testing::random_activations(cols, random_);
    std::vector<int16_t> codes(cols);
    std::vector<float> scales(9);
    std::vector<int32_t> sums(9), halves(18);
    table().quantize_row(x.data(), cols, group, codes.data(), scales.data(), sums.data(), halves.data());
    for (size_t i = 0; i < cols; ++i)
      EXPECT_NEAR(x[i], codes[i] * double{scales[i / group]}, 0.5001 * scales[i / group]);
    for (size_t g = 0; g < 9; ++g) {
      int32_t total[2] = {0, 0};
      for (size_t i = 0; i < group; ++i) total[i >= group / 2] += codes[g * group + i];
      EXPECT_EQ(sums[g], total[0] + total[1]);
      EXPECT_EQ(halves[2 * g], total[0]);
      EXPECT_EQ(halves[2 * g + 1], total[1]);
    }
  }
}

TEST_P(ReferenceTest, GroupSums) {
  const std::vector<float> x = testing::random_activations(640, random_);
  std::vector<float> sums(10);
  table().group_sums(x.data(), 640, 64, sums.data());
  for (size_t g = 0; g < 10; ++g) {
    double expected = 0, magnitude = 0;
    for (size_t i = g * 64; i < g * 64 + 64; ++i) expected += double{x[i]}, magnitude += std::fabs(double{x[i]});
    EXPECT_NEAR(expected, sums[g], 64 * kUnit * magnitude);
  }
}

TEST_P(ReferenceTest, Attention) {
  constexpr uint32_t kRows = 9, kDim = 72, kTokens = 150, kBegin = 13;
  std::vector<float> queries = testing::random_activations(kRows * kDim, random_);
  std::vector<std::vector<float>> keys(3, std::vector<float>(64 * kDim)), values = keys;
  const auto key_at = [&](uint32_t t, uint32_t d) -> float& {
    return keys[t / 64][(t % 64 / 16 * kDim + d) * 16 + t % 16];
  };
  const auto value_at = [&](uint32_t t, uint32_t d) -> float& { return values[t / 64][t % 64 * kDim + d]; };
  std::normal_distribution<float> normal;
  for (uint32_t t = 0; t < kTokens; ++t)
    for (uint32_t d = 0; d < kDim; ++d) key_at(t, d) = normal(random_), value_at(t, d) = normal(random_);
  std::vector<const std::byte*> key_pages, value_pages;
  for (size_t p = 0; p < 3; ++p) {
    key_pages.push_back(reinterpret_cast<const std::byte*>(keys[p].data()));
    value_pages.push_back(reinterpret_cast<const std::byte*>(values[p].data()));
  }
  std::vector<uint32_t> begin(kRows, kBegin), end(kRows);
  for (uint32_t r = 0; r < kRows; ++r) end[r] = kTokens - r / 3;
  std::vector<float> out(kRows * kDim), scratch(attention_scratch_floats(kRows, kTokens));
  table().attention({.queries = queries.data(),
                     .query_stride = kDim,
                     .begin = begin.data(),
                     .end = end.data(),
                     .rows = kRows,
                     .head_dim = kDim,
                     .scale = 0.2f,
                     .kv_dtype = DType::kF32,
                     .key_pages = key_pages.data(),
                     .value_pages = value_pages.data(),
                     .out = out.data(),
                     .out_stride = kDim,
                     .scratch = scratch.data()});
  for (uint32_t r = 0; r < kRows; ++r) {
    std::vector<double> weights(kTokens);
    double largest = -1e300, total = 0;
    for (uint32_t t = kBegin; t < end[r]; ++t) {
      for (uint32_t d = 0; d < kDim; ++d)
        weights[t] += double{queries[r * kDim + d]} * double{key_at(t, d)} * double{0.2f};
      largest = std::max(largest, weights[t]);
    }
    for (uint32_t t = kBegin; t < end[r]; ++t) total += weights[t] = std::exp(weights[t] - largest);
    for (uint32_t d = 0; d < kDim; ++d) {
      double expected = 0;
      for (uint32_t t = kBegin; t < end[r]; ++t) expected += weights[t] / total * double{value_at(t, d)};
      // Scores up to about 30 carry 1e-5 of absolute error into exp, and values reach 4.
      EXPECT_NEAR(expected, out[r * kDim + d], 1e-4) << r << " " << d;
    }
  }
}

TEST_P(ReferenceTest, RmsNorm) {
  const std::vector<float> x = testing::random_activations(577, random_),
                           weight = testing::random_activations(577, random_);
  std::vector<float> out(577);
  table().rms_norm(x.data(), weight.data(), 1e-5f, 577, out.data());
  double squares = 0;
  for (float value : x) squares += double{value} * double{value};
  const double r = 1 / std::sqrt(squares / 577 + double{1e-5f});
  for (size_t i = 0; i < 577; ++i)
    EXPECT_NEAR(double{x[i]} * r * double{weight[i]}, out[i], 50 * kUnit * std::fabs(out[i]));
}

// A rotation by angle `cos, sin` of the pairs that each convention names.
TEST_P(ReferenceTest, Rope) {
  constexpr uint32_t kDim = 24, kHalf = 10;
  std::vector<float> cos(kHalf), sin(kHalf);
  for (uint32_t i = 0; i < kHalf; ++i)
    cos[i] = std::cos(0.3f * static_cast<float>(i)), sin[i] = std::sin(0.3f * static_cast<float>(i));
  for (RopePairs pairs : {RopePairs::kInterleaved, RopePairs::kHalfSplit}) {
    const std::vector<float> x = testing::random_activations(2 * kDim, random_);
    std::vector<float> got = x;
    table().rope(got.data(), 2, kDim, kHalf, cos.data(), sin.data(), pairs);
    std::vector<double> expected(x.begin(), x.end());
    for (uint32_t head = 0; head < 2; ++head)
      for (uint32_t i = 0; i < kHalf; ++i) {
        const uint32_t a = head * kDim + (pairs == RopePairs::kInterleaved ? 2 * i : i);
        const uint32_t b = head * kDim + (pairs == RopePairs::kInterleaved ? 2 * i + 1 : i + kHalf);
        expected[a] = double{x[a]} * double{cos[i]} - double{x[b]} * double{sin[i]};
        expected[b] = double{x[b]} * double{cos[i]} + double{x[a]} * double{sin[i]};
      }
    for (uint32_t i = 0; i < 2 * kDim; ++i) EXPECT_NEAR(expected[i], got[i], 1e-5) << i;
  }
}

TEST_P(ReferenceTest, SiluMulAndAdd) {
  std::vector<float> gate, up;
  for (float value = -80; value < 80; value += 0.37f) gate.push_back(value), up.push_back(2 - value / 50);
  std::vector<float> got = gate;
  table().silu_mul(got.data(), up.data(), got.size());
  for (size_t i = 0; i < gate.size(); ++i) {
    const double expected = double{gate[i]} / (1 + std::exp(-double{gate[i]})) * double{up[i]};
    EXPECT_NEAR(expected, got[i], 16 * kUnit * std::fabs(expected)) << gate[i];
  }
  std::vector<float> sum = gate;
  table().add(sum.data(), up.data(), sum.size());
  for (size_t i = 0; i < gate.size(); ++i) EXPECT_EQ(sum[i], gate[i] + up[i]);
}

TEST(Exp, IsWithinItsStatedErrorAndRange) {
  for (float x = -87; x <= 88; x += 0.00137f) {
    const double expected = std::exp(double{x});
    ASSERT_NEAR(expected, exp_f32(x), expected * 0x1p-22) << x;
  }
  EXPECT_EQ(exp_f32(-87.01f), 0.0f);
  EXPECT_EQ(exp_f32(-INFINITY), 0.0f);
  EXPECT_EQ(exp_f32(88.01f), INFINITY);
  EXPECT_EQ(exp_f32(0), 1.0f);
}

TEST(Tables, AreChosenByName) {
  const std::string_view best = table().name;
  EXPECT_TRUE(set_table("scalar").ok());
  EXPECT_EQ(table().name, "scalar");
  EXPECT_EQ(set_table("z80").code(), absl::StatusCode::kNotFound);
  for (const KernelTable* row : all_tables())
    EXPECT_EQ(set_table(row->name).code(),
              row->supported() ? absl::StatusCode::kOk : absl::StatusCode::kFailedPrecondition);
  EXPECT_TRUE(set_table(best).ok());
}

std::vector<const KernelTable*> every_table() {
  std::vector<const KernelTable*> tables = tables_under_test();
  tables.push_back(all_tables().front());
  return tables;
}
std::string table_name(const ::testing::TestParamInfo<const KernelTable*>& info) {
  return std::string(info.param->name);
}
INSTANTIATE_TEST_SUITE_P(Sets, ReferenceTest, ::testing::ValuesIn(every_table()), table_name);
INSTANTIATE_TEST_SUITE_P(Sets, MatmulReferenceTest, ::testing::ValuesIn(every_table()), table_name);

}  // namespace
}  // namespace motley::kernels
