#include "model/spec.h"

#include "gtest/gtest.h"
#include "model/model.h"

namespace motley::model {
namespace {

Spec small_spec() {
  Layer layer;
  layer.mixer = SoftmaxAttention{.heads = 4,
                                 .kv_heads = 2,
                                 .head_dim = 8,
                                 .scale = 0.35f,
                                 .window = {},
                                 .rope = Rope{.rotary_dims = 8, .scaling = {}}};
  layer.feed_forward = DenseFeedForward{.width = 64};
  return {.hidden = 32,
          .vocabulary = 100,
          .context_tokens = 128,
          .embedding = {},
          .layers = {layer, layer},
          .final_norm = {},
          .head = {}};
}

TEST(Spec, ASmallNetworkIsSane) { EXPECT_TRUE(check(small_spec(), "t").ok()); }

TEST(Spec, EveryStructuralLieIsNamed) {
  const auto site_after = [](const auto& change) {
    Spec spec = small_spec();
    change(spec, std::get<SoftmaxAttention>(spec.layers[1].mixer));
    return rejection_site(check(spec, "t"));
  };
  EXPECT_EQ(site_after([](Spec& s, auto&) { s.hidden = 0; }), "spec.hidden");
  EXPECT_EQ(site_after([](Spec& s, auto&) { s.layers.clear(); }), "spec.layers");
  EXPECT_EQ(site_after([](Spec& s, auto&) { s.vocabulary = 1u << 30; }), "spec.vocabulary");
  EXPECT_EQ(site_after([](Spec& s, auto&) { s.final_norm.eps = -1; }), "spec.norm_eps");
  EXPECT_EQ(site_after([](Spec&, SoftmaxAttention& a) { a.kv_heads = 3; }), "spec.kv_heads");
  EXPECT_EQ(site_after([](Spec&, SoftmaxAttention& a) { a.head_dim = 7; }), "spec.head_dim_even");
  EXPECT_EQ(site_after([](Spec&, SoftmaxAttention& a) { a.head_dim = 1u << 31; }), "spec.head_dim");
  EXPECT_EQ(site_after([](Spec&, SoftmaxAttention& a) { a.rope->rotary_dims = 10; }), "spec.rotary_dims");
  EXPECT_EQ(site_after([](Spec&, SoftmaxAttention& a) { a.rope->theta = 0; }), "spec.rope_theta");
  EXPECT_EQ(site_after([](Spec&, SoftmaxAttention& a) { a.rope->scaling = RopeDivisors{{1.0f}}; }),
            "spec.rope_divisors");
  EXPECT_EQ(site_after([](Spec&, SoftmaxAttention& a) { a.window = 0; }), "spec.window");
}

TEST(Spec, RequiredWeightsFollowTheShapes) {
  Spec spec = small_spec();
  spec.head.tied = true;
  std::get<SoftmaxAttention>(spec.layers[0].mixer).q_bias = true;
  const auto weights = required_weights(spec);
  EXPECT_EQ(weights.size(), 1u + (9 + 1) + 9 + 1);  // embedding, two layers (one with a Q bias), final norm
  EXPECT_EQ(weights[3].role, (Role{.part = Part::kQ, .slot = Slot::kBias}));
  EXPECT_EQ(weights[4].rows, 16u);  // K: 2 KV heads of 8
}

TEST(Spec, KvBytesCountKeysAndValues) { EXPECT_EQ(kv_bytes_per_token(small_spec(), 2), 2u * 2 * 2 * 8 * 2); }

TEST(Spec, CutsLieBetweenHalfLayers) {
  const auto cuts = legal_cuts(small_spec());
  ASSERT_EQ(cuts.size(), 5u);
  EXPECT_EQ(cuts[3], (Cut{.half_layer = 3, .stream_width = 32}));
}

TEST(Override, ChangesEveryLayerOrSaysWhy) {
  Spec spec = small_spec();
  ASSERT_TRUE(override_key(spec, "rope_theta", "500000").ok());
  EXPECT_EQ(std::get<SoftmaxAttention>(spec.layers[1].mixer).rope->theta, 500000);
  ASSERT_TRUE(override_key(spec, "norm_eps", "1e-6").ok());
  EXPECT_FLOAT_EQ(spec.layers[0].feed_forward_norm.eps, 1e-6f);
  EXPECT_EQ(rejection_site(override_key(spec, "rope_theta", "12x")), "override.value");
  EXPECT_EQ(rejection_site(override_key(spec, "rope_pairs", "diagonal")), "override.rope_pairs");
  EXPECT_EQ(override_key(spec, "hidden", "12").code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace motley::model
