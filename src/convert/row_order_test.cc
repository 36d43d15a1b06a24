#include "convert/row_order.h"

#include <vector>

#include "gtest/gtest.h"

namespace motley::convert {
namespace {

using model::RopePairs;

// The formulas that converters of the world use on row h*d + …, written the other way round than row_order.cc: where a
// row of the source goes.
std::vector<uint64_t> to_half_split(uint64_t heads, uint64_t d, uint64_t rotary) {
  std::vector<uint64_t> source_of(heads * d);
  for (uint64_t h = 0; h < heads; ++h)
    for (uint64_t at = 0; at < d; ++at) {
      const uint64_t i = at / 2, t = at % 2;
      source_of[at < rotary ? h * d + t * (rotary / 2) + i : h * d + at] = h * d + at;
    }
  return source_of;
}

std::vector<uint64_t> to_interleaved(uint64_t heads, uint64_t d, uint64_t rotary) {
  std::vector<uint64_t> source_of(heads * d);
  for (uint64_t h = 0; h < heads; ++h)
    for (uint64_t at = 0; at < d; ++at) {
      const uint64_t t = at / (rotary / 2), i = at % (rotary / 2);
      source_of[at < rotary ? h * d + 2 * i + t : h * d + at] = h * d + at;
    }
  return source_of;
}

class Shapes : public testing::TestWithParam<std::tuple<uint64_t, uint64_t, uint64_t>> {};

TEST_P(Shapes, FollowTheFormula) {
  const auto [heads, d, rotary] = GetParam();
  const RowOrder halves(static_cast<uint32_t>(d), static_cast<uint32_t>(rotary), RopePairs::kInterleaved,
                        RopePairs::kHalfSplit);
  const RowOrder pairs(static_cast<uint32_t>(d), static_cast<uint32_t>(rotary), RopePairs::kHalfSplit,
                       RopePairs::kInterleaved);
  const auto want_halves = to_half_split(heads, d, rotary), want_pairs = to_interleaved(heads, d, rotary);
  for (uint64_t row = 0; row < heads * d; ++row) {
    EXPECT_EQ(halves.source_row(row), want_halves[row]) << row;
    EXPECT_EQ(pairs.source_row(row), want_pairs[row]) << row;
    EXPECT_EQ(halves.source_row(pairs.source_row(row)), row);
    EXPECT_EQ(pairs.source_row(halves.source_row(row)), row);
  }
}

INSTANTIATE_TEST_SUITE_P(All, Shapes,
                         testing::Values(std::tuple(1, 2, 2), std::tuple(1, 4, 4), std::tuple(3, 8, 8),
                                         std::tuple(4, 64, 64), std::tuple(2, 6, 4), std::tuple(5, 10, 10)));

TEST(RowOrder, EqualPairsMoveNothing) {
  const RowOrder order(8, 8, RopePairs::kHalfSplit, RopePairs::kHalfSplit);
  EXPECT_FALSE(order.moves_rows());
  for (uint64_t row = 0; row < 32; ++row) EXPECT_EQ(order.source_row(row), row);
}

TEST(RowOrder, OnlyQAndKOfLayersThatTurnMove) {
  model::SoftmaxAttention attention;
  attention.heads = 4;
  attention.kv_heads = 2;
  attention.head_dim = 8;
  attention.rope = model::Rope{.rotary_dims = 8, .pairs = RopePairs::kHalfSplit, .scaling = {}};
  model::Spec spec;
  spec.layers.assign(2, {.mixer_norm = {}, .mixer = attention, .feed_forward_norm = {}, .feed_forward = {}});
  std::get<model::SoftmaxAttention>(spec.layers[1].mixer).rope.reset();
  for (const model::Part part : {model::Part::kEmbedding, model::Part::kV, model::Part::kO, model::Part::kDown})
    EXPECT_FALSE(row_order(spec, {.part = part}, RopePairs::kInterleaved).moves_rows());
  for (const model::Part part : {model::Part::kQ, model::Part::kK}) {
    EXPECT_TRUE(row_order(spec, {.part = part}, RopePairs::kInterleaved).moves_rows());
    EXPECT_TRUE(row_order(spec, {.part = part, .slot = model::Slot::kBias}, RopePairs::kInterleaved).moves_rows());
    EXPECT_FALSE(row_order(spec, {.part = part, .layer = 1}, RopePairs::kInterleaved).moves_rows());
  }
}

}  // namespace
}  // namespace motley::convert
