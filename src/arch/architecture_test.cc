#include "arch/architecture.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace motley::arch {
namespace {

TEST(CanonicalName, TakesOffOneWrapperOfHuggingFaceNames) {
  const auto name = [](std::string_view text) { return canonical_name(Dialect::kHuggingFace, text); };
  EXPECT_EQ(name("model.layers.0.mlp.up_proj.weight"), "layers.0.mlp.up_proj.weight");
  EXPECT_EQ(name("language_model.model.layers.0.mlp.up_proj.weight"), "layers.0.mlp.up_proj.weight");
  EXPECT_EQ(name("model.language_model.layers.0.mlp.up_proj.weight"), "layers.0.mlp.up_proj.weight");
  EXPECT_EQ(name("layers.0.mlp.up_proj.weight"), "layers.0.mlp.up_proj.weight");
  EXPECT_EQ(name("language_model.lm_head.weight"), "lm_head.weight");
  EXPECT_EQ(canonical_name(Dialect::kGguf, "model.x"), "model.x");
}

TEST(Glob, StarStandsForAnyText) {
  EXPECT_TRUE(glob_matches("*.inv_freq", "layers.3.rotary_emb.inv_freq"));
  EXPECT_TRUE(glob_matches("vision_tower.*", "vision_tower."));
  EXPECT_TRUE(glob_matches("a*b*c", "a.b.b.c"));
  EXPECT_TRUE(glob_matches("exact", "exact"));
  EXPECT_FALSE(glob_matches("exact", "exactly"));
  EXPECT_FALSE(glob_matches("*.inv_freq", "inv_freq_"));
}

TEST(Architectures, UnknownOnesAreNamed) {
  const Metadata metadata{
      .dialect = Dialect::kGguf, .tree = Json(Json::Object{{"general.architecture", "qwen3"}}), .file = "f"};
  const Status status = find_architecture(metadata).status();
  EXPECT_EQ(rejection_site(status), "arch.unknown");
  EXPECT_NE(status.message().find("qwen3"), std::string::npos);
  EXPECT_NE(status.message().find("llama"), std::string::npos);
}

TEST(Architectures, EveryRoleHasANameOfItsOwnInEveryDialect) {
  for (const Architecture& row : architectures())
    for (const Dialect dialect : {Dialect::kHuggingFace, Dialect::kGguf, Dialect::kLlama2c, Dialect::kMeta}) {
      std::vector<std::string> names;
      for (int part = 0; part <= static_cast<int>(model::Part::kDown); ++part)
        for (const uint32_t layer : {1u, 12u}) {
          const model::Role role{.part = static_cast<model::Part>(part), .slot = model::Slot::kWeight, .layer = layer};
          const std::string name = row.module_name(dialect, role);
          const bool in_layer = name.find(std::to_string(layer)) != std::string::npos && role.part > model::Part::kHead;
          if (layer == 1u || in_layer) names.push_back(name);
        }
      EXPECT_EQ(names.size(), 3 + 9 * 2u);
      std::sort(names.begin(), names.end());
      EXPECT_EQ(std::unique(names.begin(), names.end()), names.end());
    }
}

}  // namespace
}  // namespace motley::arch
