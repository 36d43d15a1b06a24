// Every instruction set gives the scalar table's bits, for every slot.
#include "kernels/table.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "gtest/gtest.h"
#include "kernels/tables_under_test.h"
#include "kernels/testing.h"

namespace motley::kernels {
namespace {

using testing::Random;

const KernelTable& scalar() { return *all_tables().front(); }

// Equal bits, or the first difference.
template <typename T>
::testing::AssertionResult same_bits(const std::vector<T>& expected, const std::vector<T>& got) {
  if (expected.size() == got.size() && std::memcmp(expected.data(), got.data(), got.size() * sizeof(T)) == 0)
    return ::testing::AssertionSuccess();
  for (size_t i = 0; i < expected.size(); ++i)
    if (std::memcmp(&expected[i], &got[i], sizeof(T)) != 0)
      return ::testing::AssertionFailure() << "first difference at " << i << " of " << expected.size() << ": "
                                           << +expected[i] << " against " << +got[i];
  return ::testing::AssertionFailure() << "sizes differ";
}

class TableTest : public ::testing::TestWithParam<const KernelTable*> {
 protected:
  const KernelTable& table() const { return *GetParam(); }
  uint64_t draw(uint64_t low, uint64_t high) { return low + random_() % (high - low + 1); }
  Random random_{42};
};

// --- matmul
// -------------------------------------------------------------------------------------------------------------------

struct Shape {
  uint64_t rows, cols;
  uint32_t tokens;
};

// Runs both arithmetics of one random matrix on both tables; the panels are cut at a random place.
class MatmulTest : public TableTest {
 protected:
  void compare(const quant::StorageFormat& format, const Shape& shape) {
    SCOPED_TRACE(tensor::describe(format) + ", N " + std::to_string(shape.rows) + ", K " + std::to_string(shape.cols) +
                 ", tokens " + std::to_string(shape.tokens));
    const testing::Panels panels(testing::random_matrix(format, shape.rows, shape.cols, random_).view());
    const testing::Activations x(scalar(), panels.matrix().format, shape.cols, shape.tokens,
                                 testing::random_activations(shape.tokens * shape.cols, random_));
    EXPECT_TRUE(same_bits(exact(scalar(), panels.matrix(), x, shape, 0),
                          exact(table(), panels.matrix(), x, shape, cut(panels))));
    if (panels.matrix().format.activation_group() == 0) return;
    EXPECT_TRUE(
        same_bits(fast(scalar(), panels.matrix(), x, shape, 0), fast(table(), panels.matrix(), x, shape, cut(panels))));
  }

 private:
  uint64_t cut(const testing::Panels& panels) { return draw(0, panels.matrix().panel_count()); }

  // A stride wider than N: what lies between rows must stay as it was.
  static constexpr size_t kGap = 3;
  std::vector<float> exact(const KernelTable& t, const PanelMatrix& w, const testing::Activations& x,
                           const Shape& shape, uint64_t at) {
    std::vector<float> y(shape.tokens * (shape.rows + kGap), -7);
    const OutputRows out{y.data(), shape.rows + kGap};
    t.matmul_exact(w, x.floats(), {0, at}, out);
    t.matmul_exact(w, x.floats(), {at, w.panel_count()}, out);
    return y;
  }
  std::vector<float> fast(const KernelTable& t, const PanelMatrix& w, const testing::Activations& x, const Shape& shape,
                          uint64_t at) {
    std::vector<float> y(shape.tokens * (shape.rows + kGap), -7);
    const OutputRows out{y.data(), shape.rows + kGap};
    t.matmul_fast(w, x.quantized(), {0, at}, out);
    t.matmul_fast(w, x.quantized(), {at, w.panel_count()}, out);
    return y;
  }
};

TEST_P(MatmulTest, EveryFormatAndTokenCount) {
  uint32_t tokens = 1;
  for (const quant::StorageFormat& format : testing::all_formats())
    for (int round = 0; round < 4; ++round, tokens = tokens % 33 + 1)
      compare(format, {.rows = draw(1, 40), .cols = testing::smallest_cols(format) * draw(1, 5), .tokens = tokens});
}

TEST_P(MatmulTest, OneGroup) {
  for (const quant::StorageFormat& format : testing::all_formats())
    compare(format, {.rows = 16, .cols = testing::smallest_cols(format), .tokens = 1});
}

// More inputs and tokens than any block of a kernel, and one past it.
TEST_P(MatmulTest, PastEveryBlock) {
  for (const quant::StorageFormat& format : testing::all_formats()) {
    if (format.kind == tensor::StorageKind::kMlxAffine && format.scale_dtype != DType::kF16) continue;
    const uint64_t step = testing::smallest_cols(format);
    compare(format, {.rows = 17, .cols = step * (1024 / step + 1), .tokens = 3});
    compare(format, {.rows = 16, .cols = step * (256 / step + 1), .tokens = 131});
  }
}

// The largest codes meet the largest activations: sums in 16 bits must not overflow.
TEST_P(MatmulTest, ExtremeCodes) {
  for (const quant::StorageFormat& format : testing::all_formats()) {
    const uint64_t cols = testing::smallest_cols(format) * 2;
    for (auto code_byte : {std::byte{0x00}, std::byte{0xff}, std::byte{0x80}, std::byte{0x7f}}) {
      quant::EncodedMatrix matrix = testing::random_matrix(format, 16, cols, random_);
      if (matrix.scales.empty()) continue;
      std::fill(matrix.codes.begin(), matrix.codes.end(), code_byte);
      const testing::Panels panels(matrix.view());
      if (panels.matrix().format.activation_group() == 0) continue;
      std::vector<float> values(cols * 5);
      for (size_t i = 0; i < values.size(); ++i) values[i] = i / cols % 2 == 0 || i % 3 == 0 ? 1.0f : -1.0f;
      const testing::Activations x(scalar(), panels.matrix().format, cols, 5, values);
      std::vector<float> expected(5 * 16), got(5 * 16);
      scalar().matmul_fast(panels.matrix(), x.quantized(), {0, 1}, {expected.data(), 16});
      table().matmul_fast(panels.matrix(), x.quantized(), {0, 1}, {got.data(), 16});
      EXPECT_TRUE(same_bits(expected, got)) << tensor::describe(format);
    }
  }
}

// --- attention
// ----------------------------------------------------------------------------------------------------------------

struct AttentionShape {
  uint32_t rows, head_dim, tokens, window;
  DType dtype;
};

// Random keys and values in pages; absent positions hold NaN, which no kernel may let through.
class AttentionTest : public TableTest {
 protected:
  std::vector<float> run(const KernelTable& t, const AttentionShape& shape, uint64_t seed) {
    Random random(seed);
    const uint32_t pages = (shape.tokens + AttentionArgs::kPageTokens - 1) / AttentionArgs::kPageTokens;
    const size_t page_elements = size_t{AttentionArgs::kPageTokens} * shape.head_dim,
                 size = tensor::size_bytes(shape.dtype);
    std::vector<std::vector<std::byte>> storage;
    std::vector<const std::byte*> keys, values;
    for (uint32_t page = 0; page < 2 * pages; ++page) {
      storage.emplace_back(page_elements * size);
      for (size_t i = 0; i < page_elements; ++i) {
        const uint32_t in_page =
            static_cast<uint32_t>(page % 2 == 0 ? i / (16 * shape.head_dim) * 16 + i % 16 : i / shape.head_dim);
        const bool present = page / 2 * AttentionArgs::kPageTokens + in_page < shape.tokens;
        put(storage.back(), i, shape.dtype, present ? std::normal_distribution<float>()(random) : std::nanf(""));
      }
    }
    for (uint32_t page = 0; page < pages; ++page)
      keys.push_back(storage[2 * page].data()), values.push_back(storage[2 * page + 1].data());
    return attend(t, shape, random, keys, values);
  }

 private:
  static void put(std::vector<std::byte>& page, size_t i, DType dtype, float value) {
    if (dtype == DType::kF32) {
      std::memcpy(&page[i * 4], &value, 4);
    } else {
      const uint16_t half = tensor::f32_to_f16(value);
      std::memcpy(&page[i * 2], &half, 2);
    }
  }

  std::vector<float> attend(const KernelTable& t, const AttentionShape& shape, Random& random,
                            const std::vector<const std::byte*>& keys, const std::vector<const std::byte*>& values) {
    const size_t stride = shape.head_dim + 2;
    std::vector<float> queries(shape.rows * stride), out(shape.rows * stride, -7);
    for (float& q : queries) q = std::normal_distribution<float>()(random);
    std::vector<uint32_t> begin(shape.rows), end(shape.rows);
    for (uint32_t r = 0; r < shape.rows; ++r) {
      end[r] = shape.tokens - (shape.rows - 1 - r) * (shape.tokens - 1) / std::max(shape.rows, 2u);
      begin[r] = end[r] > shape.window ? end[r] - shape.window : 0;
    }
    std::vector<float> scratch(attention_scratch_floats(shape.rows, shape.tokens), std::nanf(""));
    t.attention({.queries = queries.data(),
                 .query_stride = stride,
                 .begin = begin.data(),
                 .end = end.data(),
                 .rows = shape.rows,
                 .head_dim = shape.head_dim,
                 .scale = 0.125f,
                 .kv_dtype = shape.dtype,
                 .key_pages = keys.data(),
                 .value_pages = values.data(),
                 .out = out.data(),
                 .out_stride = stride,
                 .scratch = scratch.data()});
    return out;
  }
};

TEST_P(AttentionTest, EveryShape) {
  for (DType dtype : {DType::kF32, DType::kF16})
    for (uint32_t head_dim : {2u, 10u, 64u, 80u})
      for (uint32_t rows : {1u, 3u, 8u, 27u})
        for (uint32_t tokens : {1u, 16u, 65u, 200u})
          for (uint32_t window : {1u, 20u, 100000u}) {
            const AttentionShape shape{rows, head_dim, tokens, window, dtype};
            const uint64_t seed = random_();
            ASSERT_TRUE(same_bits(run(scalar(), shape, seed), run(table(), shape, seed)))
                << "D " << head_dim << ", rows " << rows << ", tokens " << tokens << ", window " << window;
          }
}

// --- the small slots
// ----------------------------------------------------------------------------------------------------------

TEST_P(TableTest, QuantizeRow) {
  for (uint32_t group : {32u, 64u})
    for (size_t groups : {1u, 2u, 5u, 9u}) {
      const size_t cols = group * groups;
      std::vector<float> x = testing::random_activations(cols, random_);
      if (groups == 5) x[3] = 0x1p-120f, x[4] = 3e38f;
      if (groups == 2) std::fill(x.begin(), x.end(), -0x1p-101f);
      constexpr size_t kTop = kLargestActivationCode;
      for (size_t i = 0; groups == 9 && i < cols; ++i)  // a scale of 1, and ties
        x[i] = static_cast<float>(i % group == 0 ? kTop : i * 1021 % (2 * kTop)) - (i % group == 0 ? 0 : kTop - 0.5f);
      const auto run = [&](const KernelTable& t) {
        std::vector<float> all(cols + groups * 4 + groups);
        std::vector<int16_t> codes(cols);
        std::vector<float> scales(groups);
        std::vector<int32_t> sums(groups), halves(2 * groups);
        t.quantize_row(x.data(), cols, group, codes.data(), scales.data(), sums.data(),
                       groups == 1 ? nullptr : halves.data());
        std::vector<float> out(codes.begin(), codes.end());
        out.insert(out.end(), scales.begin(), scales.end());
        out.insert(out.end(), sums.begin(), sums.end());
        out.insert(out.end(), halves.begin(), halves.end());
        return out;
      };
      EXPECT_TRUE(same_bits(run(scalar()), run(table()))) << "group " << group << ", groups " << groups;
    }
}

TEST_P(TableTest, GroupSums) {
  for (uint32_t group : {32u, 64u, 128u})
    for (size_t groups : {1u, 3u, 8u, 19u}) {
      const std::vector<float> x = testing::random_activations(group * groups, random_);
      std::vector<float> expected(groups), got(groups);
      scalar().group_sums(x.data(), x.size(), group, expected.data());
      table().group_sums(x.data(), x.size(), group, got.data());
      EXPECT_TRUE(same_bits(expected, got)) << "group " << group;
    }
}

TEST_P(TableTest, RmsNorm) {
  for (size_t n : {1u, 7u, 16u, 17u, 31u, 64u, 576u, 2047u}) {
    const std::vector<float> x = testing::random_activations(n, random_),
                             weight = testing::random_activations(n, random_);
    std::vector<float> expected(n), got = x;
    scalar().rms_norm(x.data(), weight.data(), 1e-5f, n, expected.data());
    table().rms_norm(got.data(), weight.data(), 1e-5f, n, got.data());
    EXPECT_TRUE(same_bits(expected, got)) << n;
  }
}

TEST_P(TableTest, Rope) {
  for (RopePairs pairs : {RopePairs::kInterleaved, RopePairs::kHalfSplit})
    for (uint32_t head_dim : {2u, 8u, 20u, 64u, 80u, 128u})
      for (uint32_t half : {1u, head_dim / 4, head_dim / 2}) {
        std::vector<float> expected = testing::random_activations(3 * head_dim, random_), got = expected;
        const std::vector<float> cos = testing::random_activations(half, random_),
                                 sin = testing::random_activations(half, random_);
        scalar().rope(expected.data(), 3, head_dim, half, cos.data(), sin.data(), pairs);
        table().rope(got.data(), 3, head_dim, half, cos.data(), sin.data(), pairs);
        EXPECT_TRUE(same_bits(expected, got)) << head_dim << " " << half;
      }
}

TEST_P(TableTest, SiluMulAddAndF16) {
  for (size_t n : {1u, 7u, 8u, 33u, 1536u}) {
    std::vector<float> x = testing::random_activations(n, random_), y = testing::random_activations(n, random_);
    for (size_t i = 0; i < n; i += 5) x[i] *= 40;
    std::vector<float> expected = x, got = x;
    scalar().silu_mul(expected.data(), y.data(), n);
    table().silu_mul(got.data(), y.data(), n);
    EXPECT_TRUE(same_bits(expected, got)) << n;
    scalar().add(expected.data(), y.data(), n);
    table().add(got.data(), y.data(), n);
    EXPECT_TRUE(same_bits(expected, got)) << n;
    for (size_t i = 0; i < n; i += 3) x[i] *= i % 2 == 0 ? 1e5f : 1e-7f;
    std::vector<uint16_t> expected16(n), got16(n);
    scalar().to_f16(x.data(), n, expected16.data());
    table().to_f16(x.data(), n, got16.data());
    EXPECT_TRUE(same_bits(expected16, got16)) << n;
  }
}

// exp inside silu_mul over its whole range: gate / (1 + exp(-gate)) with up = 1.
TEST_P(TableTest, ExpOverItsWholeRange) {
  std::vector<float> x, ones;
  for (float value = -95; value <= 95; value += 0.0078f) x.push_back(value), ones.push_back(1);
  std::vector<float> expected = x, got = x;
  scalar().silu_mul(expected.data(), ones.data(), x.size());
  table().silu_mul(got.data(), ones.data(), x.size());
  EXPECT_TRUE(same_bits(expected, got));
}

std::string table_name(const ::testing::TestParamInfo<const KernelTable*>& info) {
  return std::string(info.param->name);
}

INSTANTIATE_TEST_SUITE_P(Sets, TableTest, ::testing::ValuesIn(tables_under_test()), table_name);
INSTANTIATE_TEST_SUITE_P(Sets, MatmulTest, ::testing::ValuesIn(tables_under_test()), table_name);
INSTANTIATE_TEST_SUITE_P(Sets, AttentionTest, ::testing::ValuesIn(tables_under_test()), table_name);

}  // namespace
}  // namespace motley::kernels
