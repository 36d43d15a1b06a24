#include "convert/integer_rows.h"

#include <random>

#include "gtest/gtest.h"

namespace motley::convert {
namespace {

using quant::EncodedMatrix;
using tensor::StorageKind;

std::vector<float> random_numbers(size_t count) {
  std::mt19937 random(7);
  std::normal_distribution<float> normal(0, 0.05f);
  std::vector<float> values(count);
  for (float& value : values) value = normal(random);
  return values;
}

std::vector<float> decoded(const EncodedMatrix& matrix) {
  std::vector<float> values(matrix.rows * matrix.cols);
  for (uint64_t row = 0; row < matrix.rows; ++row)
    quant::decode_row(matrix.view(), row, 0, std::span(values).subspan(row * matrix.cols, matrix.cols));
  return values;
}

constexpr uint64_t kRows = 16, kCols = 256;

// Rows of `source` in `grid`; empty when they cannot be read.
std::vector<IntegerRow> read_all(const EncodedMatrix& source, IntegerGrid grid) {
  std::vector<IntegerRow> rows(source.rows);
  for (uint64_t row = 0; row < source.rows; ++row)
    if (!read_integers(source.view(), row, grid, rows[row])) return {};
  return rows;
}

EncodedMatrix encoded(const tensor::StorageFormat& format) {
  return quant::encode(format, kRows, kCols, random_numbers(kRows * kCols)).value();
}

TEST(IntegerRows, BlocksBecomeMlxWithoutRounding) {
  for (const StorageKind kind : {StorageKind::kQ4_0, StorageKind::kQ4_1, StorageKind::kQ8_0}) {
    const EncodedMatrix source = encoded({.kind = kind});
    const IntegerGrid grid = own_grid(source.format, kCols);
    const auto rows = read_all(source, grid);
    ASSERT_EQ(rows.size(), kRows);
    const auto target = write_integers(mlx_format(grid, tensor::DType::kF32), kCols, rows);
    ASSERT_TRUE(target.ok());
    EXPECT_EQ(decoded(*target), decoded(source)) << tensor::describe(source.format);
  }
}

TEST(IntegerRows, GptqAndMlxHoldTheSameNumbers) {
  const EncodedMatrix source = encoded({.kind = StorageKind::kQ4_0});
  const IntegerGrid grid = own_grid(source.format, kCols);
  const auto gptq = write_integers(gptq_format(32, tensor::DType::kF16), kCols, read_all(source, grid)).value();
  EXPECT_EQ(decoded(gptq), decoded(source));
  const auto mlx = write_integers(mlx_format(grid, tensor::DType::kF32), kCols, read_all(gptq, grid)).value();
  EXPECT_EQ(decoded(mlx), decoded(source));
  const auto again = write_integers(gptq_format(32, tensor::DType::kF16), kCols, read_all(mlx, grid)).value();
  EXPECT_EQ(again.codes, gptq.codes);
  EXPECT_EQ(again.offsets, gptq.offsets);
}

TEST(IntegerRows, BlocksComeBackFromMlx) {
  for (const StorageKind kind : {StorageKind::kQ4_0, StorageKind::kQ4_1, StorageKind::kQ8_0}) {
    const EncodedMatrix source = encoded({.kind = kind});
    const IntegerGrid grid = own_grid(source.format, kCols);
    const auto mlx = write_integers(mlx_format(grid, tensor::DType::kF32), kCols, read_all(source, grid)).value();
    const auto again = write_integers(source.format, kCols, read_all(mlx, grid)).value();
    EXPECT_EQ(again.codes, source.codes) << tensor::describe(source.format);
  }
}

TEST(IntegerRows, SmallerGroupsRepeatTheirScale) {
  const EncodedMatrix source = encoded(mlx_format({.bits = 4, .group_size = 128}, tensor::DType::kF16));
  const IntegerGrid grid{.bits = 8, .group_size = 32};
  const auto target = write_integers(mlx_format(grid, tensor::DType::kF32), kCols, read_all(source, grid)).value();
  EXPECT_EQ(decoded(target), decoded(source));
}

TEST(IntegerRows, WhatDoesNotFitIsNotRead) {
  const EncodedMatrix eight_bits = encoded({.kind = StorageKind::kQ8_0});
  EXPECT_TRUE(read_all(eight_bits, {.bits = 4, .group_size = 32}).empty());
  const EncodedMatrix small_groups = encoded({.kind = StorageKind::kQ4_0});
  EXPECT_TRUE(read_all(small_groups, {.bits = 4, .group_size = 64}).empty());
  EXPECT_TRUE(read_all(encoded({.kind = StorageKind::kF16}), {.bits = 4, .group_size = 32}).empty());
}

TEST(IntegerRows, BiasesHaveNoPlaceInGptq) {
  const EncodedMatrix source = encoded({.kind = StorageKind::kQ4_1});
  const auto rows = read_all(source, {.bits = 4, .group_size = 32});
  const auto target = write_integers(gptq_format(32, tensor::DType::kF16), kCols, rows);
  EXPECT_EQ(rejection_site(target.status()), "convert.zero_point");
}

TEST(IntegerRows, RowsOfLlama2cAreRoundedToTheNearestCode) {
  const auto values = random_numbers(kCols);
  const IntegerGrid grid{.bits = 8, .group_size = 64};
  const std::vector rows = {round_to_integers(values, grid)};
  const auto matrix = write_integers(llama2c_int8_format(64), kCols, rows).value();
  const auto got = decoded(matrix);
  for (size_t k = 0; k < kCols; ++k) EXPECT_LE(std::fabs(got[k] - values[k]), 0.51f * rows[0].scales[k / 64]) << k;
}

}  // namespace
}  // namespace motley::convert
