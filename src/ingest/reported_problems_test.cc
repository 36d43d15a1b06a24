// What people have reported about loading Llama-family checkpoints elsewhere, each as the test that would have caught
// it.
#include <gtest/gtest.h>

#include <functional>

#include "ingest/load.h"
#include "ingest/testing/drafts.h"

namespace motley::ingest::testing {
namespace {

StatusOr<model::Model> load_files(const Files& files, const std::string& focus = "") {
  return load_from(*file_set(files), focus, {});
}

// A checkpoint whose config.json has other values for some keys; null takes a key away.
Files with_config(std::string_view name, const std::vector<std::pair<std::string, Json>>& keys) {
  Files files = read_model(name);
  Json tree = *parse_json(files["config.json"], "test");
  for (const auto& [key, value] : keys) tree.set(key, value);
  files["config.json"] = tree.dump();
  return files;
}

Files with_tensors(std::string_view name, const std::function<void(SafetensorsDraft&)>& bend) {
  Files files = read_model(name);
  SafetensorsDraft draft = SafetensorsDraft::parse(files["model.safetensors"]);
  bend(draft);
  files["model.safetensors"] = draft.text();
  return files;
}

const model::SoftmaxAttention& attention(const model::Model& model, size_t layer = 0) {
  return std::get<model::SoftmaxAttention>(model.spec.layers[layer].mixer);
}

std::vector<int32_t> end_ids(const model::Model& model) {
  std::vector<int32_t> ids;
  ids.reserve(model.text.end_tokens.size());
  for (const model::EndToken& end : model.text.end_tokens) ids.push_back(end.id);
  return ids;
}

bool has_note(const model::Model& model, std::string_view text) {
  for (const std::string& note : model.provenance.notes)
    if (note.find(text) != std::string::npos) return true;
  return false;
}

TEST(Reported, TiedGgufWithoutOutputWeightLoads) {
  const auto model = load_files({{"model.gguf", GgufDraft::good().text()}});
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_TRUE(model->spec.head.tied);
}

TEST(Reported, IndexThatNamesShardsThatWereNeverUploaded) {
  Files files = read_model("mlx-affine-4bit-g64");
  files["model.safetensors.index.json"] =
      R"({"weight_map":{"model.norm.weight":"model-00001-of-00002.safetensors","lm_head.weight":"model-00002-of-00002.safetensors"}})";
  const auto model = load_files(files);
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_TRUE(has_note(*model, "stale"));
  EXPECT_TRUE(has_note(*model, "model-00002-of-00002.safetensors"));
}

TEST(Reported, StrayShardThatTheIndexDoesNotName) {
  Files files = read_model("tiny/sharded-hf");
  files["model-mtp.safetensors"] = read_model("tiny/untied-hf")["model.safetensors"];
  const auto model = load_files(files);
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_TRUE(has_note(*model, "model-mtp.safetensors"));
}

TEST(Reported, ShardsWithoutAnIndexAreFoundByName) {
  Files files = read_model("tiny/sharded-hf");
  files.erase("model.safetensors.index.json");
  EXPECT_TRUE(load_files(files).ok());
  EXPECT_TRUE(load_files(files, "model-00002-of-00003.safetensors").ok()) << "opened from any shard";
}

TEST(Reported, SplitGgufOpensFromItsSecondPart) {
  const auto model = load("tests/data/models/tiny/sharded-gguf/model-00002-of-00003.gguf", {});
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ(model->provenance.files.size(), 3u);
}

TEST(Reported, SplitPartsConcatenatedWithCat) {
  const Files parts = read_model("tiny/sharded-gguf");
  std::string all;
  for (const auto& [name, text] : parts) all += text;
  const auto model = load_files({{"model.gguf", all}});
  EXPECT_FALSE(model.ok());
  EXPECT_NE(rejection_site(model.status()), "");
}

TEST(Reported, GgufWithItsImageProjectorInside) {
  GgufDraft draft = GgufDraft::good();
  draft.add_tensor("v.patch_embd.weight", {32}, 0, 128);
  draft.add_tensor("mm.0.weight", {32}, 0, 128);
  const auto model = load_files({{"model.gguf", draft.text()}});
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ(model->provenance.ignored.size(), 2u);
}

TEST(Reported, ConversionThatNamesOnlyOneOfTwoEndTokens) {
  GgufDraft draft = GgufDraft::good();
  draft.key("tokenizer.ggml.tokens").value = gguf_strings({"<|im_end|>", "</s>", "a", "b", "c", "d", "ab", "cd"});
  const auto model = load_files({{"model.gguf", draft.text()}});
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ(end_ids(*model), (std::vector<int32_t>{1, 0}));
}

TEST(Reported, GenerationConfigNamesFewerEndTokensThanTheOtherFiles) {
  Files files = with_config("hf-f16", {{"eos_token_id", Json::Array{0, 2}}});
  files["generation_config.json"] = R"({"eos_token_id": 5})";
  const auto model = load_files(files);
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ(end_ids(*model), (std::vector<int32_t>{5, 0, 2}));
}

TEST(Reported, EndTokenThatOnlyTheTokenizerNames) {
  Files files = with_config("hf-f16", {{"eos_token_id", Json()}});
  files.erase("generation_config.json");
  const auto model = load_files(files);
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ(end_ids(*model), (std::vector<int32_t>{2}));
}

TEST(Reported, LeftoverHeadOfATiedModel) {
  const Files files = with_config("tiny/untied-hf", {{"tie_word_embeddings", true}});
  const auto model = load_files(files);
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_TRUE(model->spec.head.tied);
  ASSERT_EQ(model->provenance.ignored.size(), 1u);
  EXPECT_EQ(model->provenance.ignored[0].tensor, "lm_head.weight");
}

TEST(Reported, UntiedModelForcedToTieWhenTheFlagIsMissing) {
  const auto untied = load_files(with_config("tiny/untied-hf", {{"tie_word_embeddings", Json()}}));
  ASSERT_TRUE(untied.ok()) << untied.status();
  EXPECT_FALSE(untied->spec.head.tied);
  const auto tied = load_files(with_config("hf-f16", {{"tie_word_embeddings", Json()}}));
  ASSERT_TRUE(tied.ok()) << tied.status();
  EXPECT_TRUE(tied->spec.head.tied);
}

TEST(Reported, HeadPromisedAndNotThere) {
  const auto model = load_files(with_config("hf-f16", {{"tie_word_embeddings", false}}));
  EXPECT_EQ(rejection_site(model.status()), "load.missing_tensor");
}

TEST(Reported, TextNetworkUnderTheNamesOfAnImageModel) {
  const auto wrapped = with_tensors("tiny/untied-hf", [](SafetensorsDraft& draft) {
    for (auto& [name, entry] : draft.header)
      if (name != "__metadata__") name.insert(0, "language_model.");
    draft.add("vision_tower.patch.weight", "F16", {4}, 8);
    draft.add("multi_modal_projector.linear.weight", "F16", {4}, 8);
  });
  const auto model = load_files(wrapped);
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ(model->provenance.ignored.size(), 2u);
}

TEST(Reported, TextConfigInsideAWrapper) {
  Files files = read_model("tiny/untied-hf");
  Json outer;
  outer.set("model_type", "llava");
  outer.set("vision_config", Json::Object{{"hidden_size", 9}});
  outer.set("text_config", *parse_json(files["config.json"], "test"));
  files["config.json"] = outer.dump();
  const auto model = load_files(files);
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ(model->spec.hidden, 32u);
  EXPECT_EQ(end_ids(*model), (std::vector<int32_t>{2}));
}

TEST(Reported, NoQuantMethodInTheQuantizationConfigOfMlx) {
  Files files = read_model("mlx-mixed_2_6");
  Json tree = *parse_json(files["config.json"], "test");
  tree.set("quantization", Json());
  files["config.json"] = tree.dump();
  EXPECT_TRUE(load_files(files).ok()) << load_files(files).status();
}

TEST(Reported, OverrideKeysInTheNamesOfTheWrapper) {
  Files files = read_model("mlx-mixed_2_6");
  std::string& config = files["config.json"];
  for (size_t at = 0; (at = config.find("\"model.layers", at)) != std::string::npos; at += 10)
    config.replace(at, 13, "\"model.language_model.layers");
  const auto model = load_files(files);
  EXPECT_TRUE(model.ok()) << model.status();
}

TEST(Reported, OverrideWithoutAllItsKeysMeansTheDefaultsOfTheMode) {
  // Global 8 bits; one module says only that it is packed in its own way: 4 bits in groups of 64, and not 8.
  Files files = read_model("mlx-affine-4bit-g64");
  Json tree = *parse_json(files["config.json"], "test");
  Json quantization = *tree.find("quantization");
  const Json::Array modules = {"self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", "self_attn.o_proj",
                               "mlp.gate_proj",    "mlp.up_proj",      "mlp.down_proj"};
  quantization.set("bits", 8);
  for (const Json& module : modules)
    for (const std::string layer : {"0", "1"})
      quantization.set("model.layers." + layer + "." + *module.as_string(), Json(Json::Object{{"group_size", Json()}}));
  quantization.set("model.embed_tokens", Json(Json::Object{}));
  tree.set("quantization", quantization);
  files["config.json"] = tree.dump();
  const auto model = load_files(files);
  EXPECT_TRUE(model.ok()) << model.status();
}

TEST(Reported, RopeParametersOfTransformers5) {
  const auto model = load("tests/data/models/tiny/llama3-scaling-new-config-hf", {});
  ASSERT_TRUE(model.ok()) << model.status();
  const auto twin = load("tests/data/models/tiny/llama3-scaling-hf", {});
  ASSERT_TRUE(twin.ok()) << twin.status();
  EXPECT_EQ(model->spec, twin->spec);
}

TEST(Reported, OldLlamaConfigurationWithoutKvHeadsAndTheta) {
  const auto model =
      load_files(with_config("tiny/rope-equal-kv-hf", {{"num_key_value_heads", Json()}, {"rope_theta", Json()}}));
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ(attention(*model).kv_heads, attention(*model).heads);
  EXPECT_EQ(attention(*model).rope->theta, 10000);
}

TEST(Reported, MistralWithAWindowOfNull) {
  const auto open = load_files(with_config("tiny/mistral-window-hf", {{"sliding_window", Json()}}));
  ASSERT_TRUE(open.ok()) << open.status();
  EXPECT_EQ(attention(*open).window, std::nullopt);
  const auto windowed = load_files(read_model("tiny/mistral-window-hf"));
  ASSERT_TRUE(windowed.ok()) << windowed.status();
  EXPECT_EQ(attention(*windowed).window, 16u);
}

TEST(Reported, WindowOnlyInTheLayersThatLayerTypesNames) {
  const auto model = load_files(with_config(
      "tiny/untied-hf", {{"sliding_window", 8}, {"layer_types", Json::Array{"full_attention", "sliding_attention"}}}));
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ(attention(*model, 0).window, std::nullopt);
  EXPECT_EQ(attention(*model, 1).window, 8u);
}

TEST(Reported, TokenizerWithAnAddedPadTokenBeyondTheEmbedding) {
  Files files = read_model("hf-f16");
  files["tokenizer.json"] = replaced(files["tokenizer.json"], "\"added_tokens\": [",
                                     "\"added_tokens\": [{\"id\": 512, \"content\": \"[PAD]\", \"special\": true},");
  const auto model = load_files(files);
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_TRUE(has_note(*model, "[PAD]"));
}

TEST(Reported, ChatTemplateInItsOwnFileWins) {
  Files files = read_model("hf-f16");
  const auto before = load_files(files);
  ASSERT_TRUE(before.ok()) << before.status();
  EXPECT_TRUE(before->text.chat_templates.at("default").starts_with("{% for message in messages %}"));
  files["chat_template.jinja"] = "{{ messages }}";
  const auto after = load_files(files);
  ASSERT_TRUE(after.ok()) << after.status();
  EXPECT_EQ(after->text.chat_templates.at("default"), "{{ messages }}");
  EXPECT_EQ(after->text.chat_template_source, "memory/chat_template.jinja");
}

TEST(Reported, TokenizerWithoutALimitSaysSoInThirtyDigits) {
  Files files = read_model("hf-f16");
  files["tokenizer_config.json"] =
      R"({"model_max_length": 1000000000000000019884624838656, "eos_token": "<|im_end|>"})";
  EXPECT_TRUE(load_files(files).ok()) << load_files(files).status();
}

TEST(Reported, SeveralNamedTemplates) {
  Files files = read_model("hf-f16");
  files["tokenizer_config.json"] =
      R"({"chat_template":[{"name":"default","template":"a"},{"name":"tool_use","template":"b"}]})";
  const auto model = load_files(files);
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ(model->text.chat_templates.at("tool_use"), "b");
}

TEST(Reported, FileUnderAWrongExtensionIsToldByItsContent) {
  EXPECT_TRUE(load_files({{"model.bin", GgufDraft::good().text()}}, "model.bin").ok());
  const auto torch = load_files({{"pytorch_model.bin", std::string("PK\x03\x04") + std::string(100, 'x')}});
  EXPECT_EQ(rejection_site(torch.status()), "zip.end") << torch.status();
}

TEST(Reported, MixtureOfExpertsIsNotRunAsADenseNetwork) {
  GgufDraft draft = GgufDraft::good();
  draft.set_number("llama.expert_count", 8);
  EXPECT_EQ(rejection_site(load_files({{"model.gguf", draft.text()}}).status()), "config.unsupported");
  EXPECT_EQ(rejection_site(load_files(with_config("tiny/untied-hf", {{"num_local_experts", 8}})).status()),
            "config.unsupported");
}

TEST(Reported, OverrideForWhatAContainerCannotHold) {
  const auto model = load_from(*file_set(read_model("tiny/rope-one-kv-llama2c")), "",
                               {.overrides = {"rope_theta=500000"}, .chat_template_file = {}});
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ(attention(*model).rope->theta, 500000);
  EXPECT_EQ(model->provenance.overrides, std::vector<std::string>{"rope_theta=500000"});
  const auto wrong = load_from(*file_set(read_model("tiny/rope-one-kv-llama2c")), "",
                               {.overrides = {"no_such_key=1"}, .chat_template_file = {}});
  EXPECT_FALSE(wrong.ok());
}

TEST(Reported, PathThatIsNotThere) {
  EXPECT_TRUE(absl::IsNotFound(load("tests/data/models/no-such-model", {}).status()));
}

}  // namespace
}  // namespace motley::ingest::testing
