// What each checkpoint of tests/data/models must be read as: written down by hand from what its writer was told.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "ingest/describe.h"
#include "ingest/load.h"

namespace motley::ingest {
namespace {

using model::Part;
using model::RopePairs;
using model::Slot;
using tensor::DType;
using tensor::StorageFormat;
using tensor::StorageKind;

const std::string kModels = "tests/data/models/";

model::Spec small_smollm2(RopePairs pairs, double theta, uint32_t context) {
  const model::Norm norm{.eps = 1e-5f, .weight_offset = 0};
  model::SoftmaxAttention attention{
      .heads = 4, .kv_heads = 2, .head_dim = 64, .scale = 0.125f, .window = {}, .rope = {}};
  attention.rope = model::Rope{.theta = theta, .rotary_dims = 64, .pairs = pairs, .scaling = model::RopeUnscaled{}};
  model::Spec spec;
  spec.hidden = 256;
  spec.vocabulary = 512;
  spec.context_tokens = context;
  spec.layers.assign(2, {norm, attention, norm, model::DenseFeedForward{.width = 512}});
  spec.final_norm = norm;
  spec.head.tied = true;
  return spec;
}

StorageFormat affine(uint8_t bits, uint16_t group, DType scales) {
  return {.kind = StorageKind::kMlxAffine, .bits = bits, .group_size = group, .scale_dtype = scales};
}
StorageFormat plain(StorageKind kind) { return {.kind = kind}; }

struct Golden {
  std::string name;
  std::string container;
  RopePairs pairs;
  StorageFormat embedding, q, down;  // of layer 1, where mixed recipes spend more
  double bits_per_weight;            // of the embedding
  std::vector<int32_t> ends;
};

std::vector<Golden> goldens() {
  const auto mlx = [](std::string name, uint8_t bits, uint16_t group, DType scales) {
    const StorageFormat format = affine(bits, group, scales);
    const double overhead = 2.0 * 8 * static_cast<double>(tensor::size_bytes(scales)) / group;
    return Golden{std::move(name), "safetensors", RopePairs::kHalfSplit, format, format, format, bits + overhead, {2}};
  };
  const auto mixed = [](std::string name, StorageFormat embedding, StorageFormat q, StorageFormat down, double bits) {
    return Golden{std::move(name), "safetensors", RopePairs::kHalfSplit, embedding, q, down, bits, {2}};
  };
  const auto gguf = [](std::string name, StorageKind embedding, StorageKind q, double bits) {
    return Golden{std::move(name), "GGUF v3", RopePairs::kInterleaved, plain(embedding), plain(q), plain(q), bits,
                  {2, 0}};
  };
  const auto hugging_face = [](std::string name, StorageKind kind) {
    return Golden{
        std::move(name), "safetensors", RopePairs::kHalfSplit, plain(kind), plain(kind), plain(kind), 16, {2}};
  };
  using enum StorageKind;
  return {
      mlx("mlx-affine-2bit-g64", 2, 64, DType::kF16),
      mlx("mlx-affine-3bit-g32", 3, 32, DType::kBF16),
      mlx("mlx-affine-4bit-g64", 4, 64, DType::kF16),
      mixed("mlx-mixed_2_6", affine(2, 64, DType::kF16), affine(2, 64, DType::kF16), affine(6, 64, DType::kF16), 2.5),
      mixed("mlx-mixed_3_6", affine(3, 64, DType::kF16), affine(3, 64, DType::kF16), affine(6, 64, DType::kF16), 3.5),
      gguf("gguf-Q4_0", kQ6_K, kQ4_0, 6.5625),
      gguf("gguf-Q4_1", kQ6_K, kQ4_1, 6.5625),
      gguf("gguf-Q8_0", kQ8_0, kQ8_0, 8.5),
      gguf("gguf-Q6_K-pure", kQ6_K, kQ6_K, 6.5625),
      hugging_face("hf-f16", kF16),
  };
}

std::vector<int32_t> end_ids(const model::Model& model) {
  std::vector<int32_t> ids;
  ids.reserve(model.text.end_tokens.size());
  for (const model::EndToken& end : model.text.end_tokens) ids.push_back(end.id);
  return ids;
}

TEST(Golden, EverySmallCheckpointIsReadAsItWasWritten) {
  for (const Golden& want : goldens()) {
    SCOPED_TRACE(want.name);
    const auto model = load(kModels + want.name, {});
    ASSERT_TRUE(model.ok()) << model.status();
    EXPECT_EQ(model->provenance.container, want.container);
    EXPECT_EQ(model->provenance.architecture, "llama");
    EXPECT_EQ(model->spec, small_smollm2(want.pairs, 100000, model->spec.context_tokens));
    const model::Weight& embedding = model->weights.at({.part = Part::kEmbedding});
    EXPECT_EQ(embedding.format, want.embedding);
    EXPECT_EQ(model->weights.at({.part = Part::kQ, .slot = Slot::kWeight, .layer = 0}).format, want.q);
    EXPECT_EQ(model->weights.at({.part = Part::kDown, .slot = Slot::kWeight, .layer = 1}).format, want.down);
    EXPECT_DOUBLE_EQ(8.0 * static_cast<double>(embedding.stored_bytes()) / (512 * 256), want.bits_per_weight);
    EXPECT_EQ(end_ids(*model), want.ends);
    EXPECT_EQ(model->weights.size(), 20u);
  }
}

TEST(Golden, EveryFolderOfTestDataLoads) {
  size_t folders = 0;
  for (const std::string& parent : {kModels, kModels + "tiny/"})
    for (const auto& entry : std::filesystem::directory_iterator(parent)) {
      if (!entry.is_directory() || entry.path().filename() == "tiny") continue;
      const auto model = load(entry.path().string(), {});
      EXPECT_TRUE(model.ok()) << entry.path() << ": " << model.status();
      ++folders;
    }
  EXPECT_GE(folders, 50u);
}

// The same spec with one convention for the pairs, and no context: llama2.c files hold the length they were trained
// with.
model::Spec without_convention(model::Spec spec) {
  spec.context_tokens = 0;
  for (model::Layer& layer : spec.layers) {
    auto& rope = std::get<model::SoftmaxAttention>(layer.mixer).rope;
    if (rope) rope->pairs = RopePairs::kHalfSplit;
  }
  return spec;
}

const model::Rope& first_rope(const model::Spec& spec) {
  return *std::get<model::SoftmaxAttention>(spec.layers.front().mixer).rope;
}

void expect_twins(const std::string& hugging_face, const std::string& other) {
  SCOPED_TRACE(other);
  auto a = load(hugging_face, {});
  LoadOptions options;
  if (a.ok() && other.ends_with("-llama2c"))  // two numbers that this container cannot hold
    options.overrides = {fmt::format("rope_theta={}", first_rope(a->spec).theta),
                         fmt::format("norm_eps={}", a->spec.final_norm.eps)};
  auto b = load(other, options);
  ASSERT_TRUE(a.ok() && b.ok()) << a.status() << b.status();
  EXPECT_EQ(first_rope(a->spec).pairs, RopePairs::kHalfSplit);
  EXPECT_EQ(first_rope(b->spec).pairs, RopePairs::kInterleaved);
  // GGUF holds Llama 3's scaling as a table of divisors: the frequencies must be those of the formula.
  const auto want = model::rope_frequencies(first_rope(a->spec));
  const auto got = model::rope_frequencies(first_rope(b->spec));
  ASSERT_EQ(want.radians_per_position.size(), got.radians_per_position.size());
  for (size_t i = 0; i < want.radians_per_position.size(); ++i)
    EXPECT_NEAR(got.radians_per_position[i] / want.radians_per_position[i], 1, 1e-6);  // the table is f32
  EXPECT_NEAR(want.magnitude, got.magnitude, 1e-6);
  if (std::holds_alternative<model::RopeDivisors>(first_rope(b->spec).scaling))
    for (auto* spec : {&a->spec, &b->spec})
      for (model::Layer& layer : spec->layers)
        std::get<model::SoftmaxAttention>(layer.mixer).rope->scaling = model::RopeUnscaled{};
  EXPECT_EQ(without_convention(a->spec), without_convention(b->spec));
}

TEST(Golden, OneNetworkInTwoContainersHasOneSpec) {
  size_t twins = 0;
  for (const auto& entry : std::filesystem::directory_iterator(kModels + "tiny")) {
    const std::string path = entry.path().string();
    if (!path.ends_with("-hf")) continue;
    const std::string base = path.substr(0, path.size() - 3);
    for (const std::string suffix : {"-gguf", "-llama2c"}) {
      if (!std::filesystem::exists(base + suffix)) continue;
      expect_twins(path, base + suffix);
      ++twins;
    }
  }
  EXPECT_GE(twins, 10u);
}

TEST(Golden, StoriesHaveTheConstantsOfLlama2c) {
  const auto model = load(kModels + "stories260K", {});
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ(model->spec.hidden, 64u);
  EXPECT_EQ(model->spec.layers.size(), 5u);
  EXPECT_EQ(model->spec.context_tokens, 512u);
  EXPECT_EQ(model->spec.final_norm.eps, 1e-5f);
  EXPECT_EQ(first_rope(model->spec).theta, 10000);
  EXPECT_EQ(first_rope(model->spec).pairs, RopePairs::kInterleaved);
  const auto& vocabulary = std::get<model::Vocabulary>(model->text.tokenizer);
  EXPECT_EQ(vocabulary.tokens.size(), 512u);
  EXPECT_EQ(vocabulary.tokens[1], "<s>");
  EXPECT_EQ(vocabulary.tokens[3], "<0x00>");
  EXPECT_EQ(vocabulary.types[3], model::Vocabulary::TokenType::kByte);
  EXPECT_EQ(model->text.bos_id, 1);
  EXPECT_EQ(model->text.add_bos, true);
}

TEST(Golden, TheReportAddsUp) {
  const auto model = load(kModels + "mlx-mixed_2_6", {});
  ASSERT_TRUE(model.ok()) << model.status();
  const Json report = describe(*model, TensorList::kInclude);
  const Json* bytes = report.find("bytes");
  ASSERT_NE(bytes, nullptr);
  int64_t parts =
      *bytes->find("embedding")->as_int() + *bytes->find("head")->as_int() + *bytes->find("final_norm")->as_int();
  for (const Json& layer : *bytes->find("layers")->as_array()) parts += *layer.as_int();
  EXPECT_EQ(parts, *bytes->find("total")->as_int());
  int64_t stored = 0;
  for (const Json& row : *report.find("storage")->as_array()) stored += *row.find("bytes")->as_int();
  EXPECT_EQ(stored, parts);
  EXPECT_EQ(report.find("tensors")->as_array()->size(), 20u);
  EXPECT_EQ(report.find("kv_bytes_per_token")->find("f16")->as_int(),
            2 * 2 * 2 * 64 * 2);  // layers, K and V, KV heads, dim, bytes
  EXPECT_EQ(report.find("text")->find("tokenizer")->find("vocabulary")->as_int(), 512);
  EXPECT_EQ(describe(*model, TensorList::kLeaveOut).find("tensors"), nullptr);
}

}  // namespace
}  // namespace motley::ingest
