// The RoPE convention cannot rot. Checkpoints converted with unpermuted Q and K gave good text for about 20 tokens,
// then gibberish; so a forced wrong rotation must leave the reference within 40 tokens, for one, equal and grouped KV
// heads, in every container.

#include <set>

#include "gtest/gtest.h"
#include "harness.h"

namespace motley::testing {
namespace {

constexpr size_t kMustDifferWithin = 40;
// A hundred times what a right network is allowed: nobody can mistake it for rounding.
constexpr double kClearlyWrong = 1e-2;

std::vector<Reference> rope_references() {
  std::vector<Reference> result;
  for (const Reference& reference : all_references())
    if (reference.name.starts_with("tiny/rope-")) result.push_back(reference);
  return result;
}

std::string other_pairs(const model::Model& model) {
  const auto& attention = std::get<model::SoftmaxAttention>(model.spec.layers[0].mixer);
  return attention.rope->pairs == model::RopePairs::kInterleaved ? "rope_pairs=half-split" : "rope_pairs=interleaved";
}

TEST(RopeConvention, OneEqualAndGroupedKvHeadsAreThereInEveryContainer) {
  std::set<std::string> names;
  for (const Reference& reference : rope_references()) names.insert(reference.name);
  for (const char* heads : {"one", "equal", "grouped"})
    for (const char* container : {"hf", "gguf", "llama2c"})
      EXPECT_TRUE(names.contains(std::string("tiny/rope-") + heads + "-kv-" + container)) << heads << " " << container;
}

class RopeConventionTest : public ::testing::TestWithParam<Reference> {};

TEST_P(RopeConventionTest, TheWrongRotationLeavesTheReferenceWithin40Tokens) {
  const Reference& reference = GetParam();
  const Matrix expected = read_npy(reference.logits);
  const auto right = load_model(reference.model, reference.overrides);
  ASSERT_NE(right, nullptr);
  std::vector<std::string> overrides = reference.overrides;
  overrides.push_back(other_pairs(*right));
  const auto wrong = load_model(reference.model, overrides);
  ASSERT_NE(wrong, nullptr);

  const auto first_wrong_row = [&](const auto& model) {
    return first_differing_row(expected, run_logits(*make_runner(model, exec::Precision::kExact), reference.ids, 512),
                               kClearlyWrong);
  };
  EXPECT_EQ(first_wrong_row(right), expected.rows);
  EXPECT_LT(first_wrong_row(wrong), kMustDifferWithin);
}

INSTANTIATE_TEST_SUITE_P(Checkpoints, RopeConventionTest, ::testing::ValuesIn(rope_references()), reference_name);

}  // namespace
}  // namespace motley::testing
