// Configurations as publishers write them, and the networks that they mean.
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "arch/architecture.h"

namespace motley::arch {
namespace {

class Shapes final : public Catalogue {
 public:
  explicit Shapes(std::map<std::string, std::vector<uint64_t>, std::less<>> shapes) : shapes_(std::move(shapes)) {}
  const std::vector<uint64_t>* shape(std::string_view name) const override {
    const auto found = shapes_.find(name);
    return found == shapes_.end() ? nullptr : &found->second;
  }
  StatusOr<std::vector<float>> floats(std::string_view name) const override {
    return std::vector<float>(shape(name)->front(), 2.0f);
  }

 private:
  std::map<std::string, std::vector<uint64_t>, std::less<>> shapes_;
};

StatusOr<Description> describe(Dialect dialect, const Json& tree, const Shapes& shapes) {
  const Metadata metadata{.dialect = dialect, .tree = tree, .file = "file"};
  TRY(const Architecture* architecture, find_architecture(metadata));
  return architecture->describe(metadata, shapes);
}

// The published configuration of Llama 3.2 1B, changed by `keys` (null takes a key away).
StatusOr<Description> llama32(const Json::Object& keys) {
  Json tree = *parse_json(R"({
    "architectures": ["LlamaForCausalLM"], "attention_bias": false, "attention_dropout": 0.0, "bos_token_id": 128000,
    "eos_token_id": [128001, 128008, 128009], "head_dim": 64, "hidden_act": "silu", "hidden_size": 2048,
    "initializer_range": 0.02, "intermediate_size": 8192, "max_position_embeddings": 131072, "mlp_bias": false,
    "model_type": "llama", "num_attention_heads": 32, "num_hidden_layers": 16, "num_key_value_heads": 8, "pretraining_tp": 1,
    "rms_norm_eps": 1e-05, "rope_scaling": {"factor": 32.0, "high_freq_factor": 4.0, "low_freq_factor": 1.0,
    "original_max_position_embeddings": 8192, "rope_type": "llama3"}, "rope_theta": 500000.0, "tie_word_embeddings": true,
    "torch_dtype": "bfloat16", "transformers_version": "4.45.0.dev0", "use_cache": true, "vocab_size": 128256})",
                          "test");
  for (const auto& [key, value] : keys) tree.set(key, value);
  return describe(Dialect::kHuggingFace, tree, Shapes({}));
}

const model::SoftmaxAttention& attention(const Description& description) {
  return std::get<model::SoftmaxAttention>(description.spec.layers.at(0).mixer);
}

model::RopeScaling scaling_of(const Json::Object& scaling) {
  const auto description = llama32({{"rope_scaling", Json(scaling)}});
  EXPECT_TRUE(description.ok()) << description.status();
  return description.ok() ? attention(*description).rope->scaling : model::RopeScaling();
}

TEST(Llama, PublishedConfigurationOfLlama32) {
  const auto description = llama32({});
  ASSERT_TRUE(description.ok()) << description.status();
  EXPECT_TRUE(description->notes.empty());
  const model::Spec& spec = description->spec;
  EXPECT_EQ(spec.layers.size(), 16u);
  EXPECT_EQ(spec.context_tokens, 131072u);
  EXPECT_TRUE(spec.head.tied);
  EXPECT_EQ(attention(*description).kv_heads, 8u);
  EXPECT_EQ(attention(*description).rope->theta, 500000);
  const model::RopeScaling want =
      model::RopeLlama3{.factor = 32, .low_freq_factor = 1, .high_freq_factor = 4, .original_context = 8192};
  EXPECT_EQ(attention(*description).rope->scaling, want);
  EXPECT_TRUE(model::check(spec, "test").ok());
}

TEST(Llama, LinearScaling) {
  EXPECT_EQ(scaling_of({{"type", "linear"}, {"factor", 4}}), model::RopeScaling(model::RopeLinear{.factor = 4}));
}

TEST(Llama, YarnFillsInWhatThePaperRecommends) {
  const auto yarn = std::get<model::RopeYarn>(scaling_of({{"rope_type", "yarn"}, {"factor", 4.0}}));
  EXPECT_EQ(yarn.original_context, 131072u) << "the context, when no original one is named";
  EXPECT_DOUBLE_EQ(yarn.attention_factor, 0.1 * std::log(4.0) + 1);
  EXPECT_EQ(yarn.beta_fast, 32);
  EXPECT_EQ(yarn.beta_slow, 1);
  EXPECT_TRUE(yarn.truncate);
}

TEST(Llama, YarnTakesWhatTheFileSays) {
  const auto yarn = std::get<model::RopeYarn>(scaling_of({{"rope_type", "yarn"},
                                                          {"factor", 4.0},
                                                          {"original_max_position_embeddings", 1024},
                                                          {"beta_fast", 16},
                                                          {"beta_slow", 2},
                                                          {"attention_factor", 1.5},
                                                          {"truncate", false}}));
  EXPECT_EQ(yarn, (model::RopeYarn{.factor = 4,
                                   .beta_fast = 16,
                                   .beta_slow = 2,
                                   .attention_factor = 1.5,
                                   .original_context = 1024,
                                   .truncate = false}));
  const auto mscale = std::get<model::RopeYarn>(
      scaling_of({{"rope_type", "yarn"}, {"factor", 4.0}, {"mscale", 2.0}, {"mscale_all_dim", 1.0}}));
  EXPECT_DOUBLE_EQ(mscale.attention_factor, (0.2 * std::log(4.0) + 1) / (0.1 * std::log(4.0) + 1));
}

TEST(Llama, PairsFollowTheFlagOfMlx) {
  EXPECT_EQ(attention(*llama32({})).rope->pairs, model::RopePairs::kHalfSplit);
  EXPECT_EQ(attention(*llama32({{"rope_traditional", true}})).rope->pairs, model::RopePairs::kInterleaved);
}

TEST(Llama, BiasesComeFromTheConfiguration) {
  const auto description = llama32({{"attention_bias", true}, {"mlp_bias", true}});
  ASSERT_TRUE(description.ok()) << description.status();
  EXPECT_TRUE(attention(*description).q_bias && attention(*description).o_bias);
  EXPECT_TRUE(std::get<model::DenseFeedForward>(description->spec.layers[0].feed_forward).down_bias);
}

TEST(Llama, MistralWithoutAWindowKeyHasTheDefaultOfItsClass) {
  const auto description = llama32({{"model_type", "mistral"}});
  ASSERT_TRUE(description.ok()) << description.status();
  EXPECT_EQ(attention(*description).window, 4096u);
  EXPECT_EQ(
      attention(*llama32({{"model_type", "mistral"}, {"sliding_window", 8}, {"use_sliding_window", false}})).window,
      std::nullopt);
}

TEST(Llama, WindowOfALlamaWithoutLayerTypesIsANote) {
  const auto description = llama32({{"sliding_window", 4096}});
  ASSERT_TRUE(description.ok()) << description.status();
  EXPECT_EQ(attention(*description).window, std::nullopt);
  EXPECT_EQ(description->notes.size(), 1u);
}

// Keys of families that share the name and compute something else.
TEST(Llama, KeysOfOtherFamiliesAreRefusedUnlessNeutral) {
  for (const char* key : {"attention_multiplier", "embedding_multiplier", "residual_multiplier", "logits_scaling",
                          "final_logit_softcapping", "attn_logit_softcapping", "use_qk_norm", "partial_rotary_factor",
                          "num_local_experts"}) {
    EXPECT_EQ(rejection_site(llama32({{key, 0.125}}).status()), "config.unsupported") << key;
    EXPECT_TRUE(llama32({{key, Json()}}).ok()) << key;
  }
  EXPECT_TRUE(llama32({{"partial_rotary_factor", 1.0}, {"use_qk_norm", false}, {"embedding_multiplier", 1.0}}).ok());
}

StatusOr<Description> gguf(const Json::Object& keys,
                           std::map<std::string, std::vector<uint64_t>, std::less<>> extra = {}) {
  Json tree = *parse_json(R"({
    "general.architecture": "llama", "general.name": "x", "llama.block_count": 2, "llama.context_length": 4096,
    "llama.embedding_length": 64, "llama.feed_forward_length": 128, "llama.attention.head_count": 4,
    "llama.attention.layer_norm_rms_epsilon": 1e-5, "tokenizer.ggml.model": "gpt2"})",
                          "test");
  for (const auto& [key, value] : keys) tree.set(key, value);
  extra["token_embd.weight"] = {100, 64};
  return describe(Dialect::kGguf, tree, Shapes(std::move(extra)));
}

TEST(Llama, GgufFillsInWhatLlamaCppDoes) {
  const auto description = gguf({});
  ASSERT_TRUE(description.ok()) << description.status();
  EXPECT_EQ(attention(*description).kv_heads, 4u);
  EXPECT_EQ(attention(*description).head_dim, 16u);
  EXPECT_EQ(attention(*description).rope->theta, 10000);
  EXPECT_EQ(attention(*description).rope->pairs, model::RopePairs::kInterleaved);
  EXPECT_EQ(description->spec.vocabulary, 100u);
  EXPECT_TRUE(description->spec.head.tied);
}

TEST(Llama, GgufScalings) {
  EXPECT_EQ(attention(*gguf({{"llama.rope.scale_linear", 4}})).rope->scaling,
            model::RopeScaling(model::RopeLinear{.factor = 4}));
  EXPECT_EQ(attention(*gguf({{"llama.rope.scaling.type", "none"}, {"llama.rope.scaling.factor", 4}})).rope->scaling,
            model::RopeScaling());
  const auto yarn = std::get<model::RopeYarn>(attention(*gguf({{"llama.rope.scaling.type", "yarn"},
                                                               {"llama.rope.scaling.factor", 4},
                                                               {"llama.rope.scaling.original_context_length", 1024}}))
                                                  .rope->scaling);
  EXPECT_EQ(yarn.original_context, 1024u);
  EXPECT_DOUBLE_EQ(yarn.attention_factor, 0.1 * std::log(4.0) + 1);
}

TEST(Llama, GgufTableOfDivisors) {
  const auto description = gguf({}, {{"rope_freqs.weight", {8}}});
  ASSERT_TRUE(description.ok()) << description.status();
  EXPECT_EQ(description->used_tensors, std::vector<std::string>{"rope_freqs.weight"});
  EXPECT_EQ(attention(*description).rope->scaling,
            model::RopeScaling(model::RopeDivisors{std::vector<float>(8, 2.0f)}));
}

TEST(Llama, GgufListsThatSayTheSameForEveryLayer) {
  EXPECT_EQ(attention(*gguf({{"llama.attention.head_count_kv", Json::Array{2, 2}}})).kv_heads, 2u);
  EXPECT_EQ(rejection_site(gguf({{"llama.attention.head_count_kv", Json::Array{2, 4}}}).status()), "llama.per_layer");
}

TEST(Llama, GgufBiasesAreThoseThatAreThere) {
  const auto description = gguf({}, {{"blk.0.attn_q.bias", {64}}});
  ASSERT_TRUE(description.ok()) << description.status();
  EXPECT_TRUE(attention(*description).q_bias);
  EXPECT_FALSE(attention(*description).k_bias);
}

}  // namespace
}  // namespace motley::arch
