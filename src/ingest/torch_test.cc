// Torch files, Meta's ranks, NumPy archives and llama2.c's newer versions: what good ones are read as, and what pickles
// may not do.
#include <gtest/gtest.h>

#include <numeric>

#include "ingest/joined_source.h"
#include "ingest/load.h"
#include "ingest/testing/drafts.h"
#include "ingest/torch_file.h"

namespace motley::ingest::testing {
namespace {

std::shared_ptr<const ByteSource> source_of(const std::string& text) {
  const auto* data = reinterpret_cast<const std::byte*>(text.data());
  return memory_source("memory/model.pt", {data, data + text.size()});
}

struct State {
  std::vector<Tensor> tensors;
  Attributes attributes;
};

StatusOr<State> read(const std::string& text) {
  State state;
  TRY(read_torch(source_of(text), state.tensors, state.attributes));
  return state;
}

StatusOr<model::Model> load_files(const Files& files, const std::string& focus = "") {
  return load_from(*file_set(files), focus, {});
}

// The numbers of a Hugging Face folder in another container.
Files with_weights(std::string name, std::string text) {
  Files files = read_model("tiny/untied-hf");
  files.erase("model.safetensors");
  files[std::move(name)] = std::move(text);
  return files;
}

TEST(Torch, AStateDictIsReadAsTheSameNetworkAsSafetensors) {
  const auto want = load_files(read_model("tiny/untied-hf"));
  ASSERT_TRUE(want.ok()) << want.status();
  const TorchDraft draft = TorchDraft::of("tiny/untied-hf");
  for (const std::string& text : {draft.text(), draft.legacy_text()}) {
    const auto got = load_files(with_weights("pytorch_model.bin", text));
    ASSERT_TRUE(got.ok()) << got.status();
    EXPECT_EQ(got->spec, want->spec);
    EXPECT_EQ(got->weights.size(), want->weights.size());
    EXPECT_EQ(got->provenance.container, "torch");
  }
}

TEST(Torch, NestedDictsBecomeTensorsAndAttributes) {
  TorchDraft draft = TorchDraft::small();
  const TorchDraftTensor tensor = draft.tensors.front();
  const std::string size = pickle_call(pickle_global("torch", "Size"), pickle_ints({256, 64}));
  draft.others = {{"layer", pickle_dict({{"W_q", tensor.opcodes()},
                                         {"nbits", pickle_int(4)},
                                         {"shape", size},
                                         {"axis", "N"},
                                         {"optimize", "\x88"},
                                         {"packing", pickle_text("4bit_u8")},
                                         {"dtype", pickle_global("torch", "bfloat16")}})}};
  const auto state = read(draft.text());
  ASSERT_TRUE(state.ok()) << state.status();
  ASSERT_EQ(state->tensors.size(), 2u);
  EXPECT_EQ(state->tensors[1].name, "layer.W_q");
  EXPECT_EQ(state->tensors[1].range, state->tensors[0].range) << "two tensors may share a storage";
  const auto text_of = [&](const std::string& path) { return state->attributes.at(path).dump(); };
  EXPECT_EQ(text_of("layer.nbits"), "4");
  EXPECT_EQ(text_of("layer.shape"), "[256,64]");
  EXPECT_EQ(text_of("layer.axis"), "null");
  EXPECT_EQ(text_of("layer.optimize"), "true");
  EXPECT_EQ(text_of("layer.packing"), "\"4bit_u8\"");
  EXPECT_EQ(text_of("layer.dtype"), "\"torch.bfloat16\"");
}

TEST(Torch, ATensorMayBeginInsideItsStorage) {
  TorchDraft draft = TorchDraft::small();
  TorchDraftTensor& tensor = draft.tensors.front();
  tensor.offset = 3;
  tensor.shape = {1, 3};
  tensor.strides = {100, 1};  // of a dimension of one: never used
  const auto whole = read(TorchDraft::small().text());
  const auto part = read(draft.text());
  ASSERT_TRUE(whole.ok() && part.ok()) << part.status();
  EXPECT_EQ(part->tensors[0].range.size_bytes, 12u);
  EXPECT_EQ(part->tensors[0].range.end() % 4, whole->tensors[0].range.end() % 4);
}

// Each way that a pickle has to name a function and to call it.
TEST(Torch, FunctionsAreRefusedByNameAndNeverCalled) {
  const auto with = [](const std::string& opcodes) {
    TorchDraft draft = TorchDraft::small();
    draft.others = {{"x", opcodes}};
    return read(draft.text()).status();
  };
  const std::string command = pickle_text("touch /tmp/motley-was-here");
  const std::string eval = pickle_text("builtins") + pickle_text("eval") + "\x93";
  const std::pair<std::string, std::string> rows[] = {
      {"os.system", pickle_call(pickle_global("os", "system"), command)},
      {"builtins.eval", pickle_call(eval, command)},
      {"argparse.Namespace", pickle_global("argparse", "Namespace") + ")\x81"},
      {"torch._utils._rebuild_from_type_v2", pickle_call(pickle_global("torch._utils", "_rebuild_from_type_v2"), "N")},
  };
  for (const auto& [name, opcodes] : rows) {
    const Status status = with(opcodes);
    EXPECT_EQ(rejection_site(status), "pickle.global") << name << ": " << status;
    EXPECT_NE(status.message().find(name), std::string::npos) << status;
  }
  EXPECT_TRUE(with(pickle_global("os", "system")).ok()) << "a name that nobody calls is a text";
}

// Sizes and offsets beyond 4 GB stand elsewhere; here the same small ones do.
TEST(Torch, Zip64) {
  ZipDraft draft = TorchDraft::small().zip();
  ZipDraftEntry& data = draft.entry("model/data/0");
  data.size_bytes = data.packed_bytes = 0xffffffff;
  data.extra = raw(uint16_t{1}) + raw(uint16_t{16}) + raw(uint64_t{24}) + raw(uint64_t{24});
  const std::string plain = draft.text();
  uint32_t directory_bytes = 0, directory_offset = 0;
  plain.copy(reinterpret_cast<char*>(&directory_bytes), 4, plain.size() - 10);
  plain.copy(reinterpret_cast<char*>(&directory_offset), 4, plain.size() - 6);
  draft.before_end = raw(uint32_t{0x06064b50}) + raw(uint64_t{44}) + std::string(12, '\0') + raw(uint64_t{3}) +
                     raw(uint64_t{3}) + raw(uint64_t{directory_bytes}) + raw(uint64_t{directory_offset}) +
                     raw(uint32_t{0x07064b50}) + raw(uint32_t{0}) + raw(uint64_t{directory_offset} + directory_bytes) +
                     raw(uint32_t{1});
  draft.count = 0xffff;
  draft.directory_offset = draft.directory_bytes = 0xffffffff;
  const auto want = read(TorchDraft::small().text()), got = read(draft.text());
  ASSERT_TRUE(got.ok()) << got.status();
  EXPECT_EQ(got->tensors[0].range, want->tensors[0].range);
}

TEST(Torch, ListsThatHoldThemselvesEnd) {
  TorchDraft draft = TorchDraft::small();
  draft.others = {{"ring", std::string("]q\x09h\x09"
                                       "a",
                                       6)}};
  EXPECT_FALSE(read(draft.text()).ok());
  draft.others = {{"ring", std::string("}q\x09", 3) + pickle_text("x") + "h\x09s"}};
  EXPECT_EQ(rejection_site(read(draft.text()).status()), "torch.depth");
}

TEST(Torch, SafetensorsAreTakenWhereBothLie) {
  Files files = read_model("tiny/untied-hf");
  files["pytorch_model.bin"] = TorchDraft::of("tiny/untied-hf").text();
  files["optimizer.pt"] = files["training_args.bin"] = TorchDraft::small().text();
  const auto model = load_files(files);
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ(model->provenance.container, "safetensors");
  ASSERT_FALSE(model->provenance.notes.empty());
  EXPECT_NE(model->provenance.notes.front().find("pytorch_model.bin"), std::string::npos);
}

TEST(Torch, ShardsFollowTheirIndex) {
  TorchDraft one = TorchDraft::of("tiny/untied-hf"), two;
  two.tensors.assign(one.tensors.begin() + 5, one.tensors.end());
  one.tensors.resize(5);
  Files files = with_weights("pytorch_model-00001-of-00002.bin", one.text());
  files["pytorch_model-00002-of-00002.bin"] = two.text();
  EXPECT_TRUE(load_files(files).ok()) << load_files(files).status();
  files["pytorch_model.bin.index.json"] =
      R"({"weight_map":{"a":"pytorch_model-00001-of-00002.bin","b":"pytorch_model-00002-of-00002.bin"}})";
  files["model.pt"] = "not one of them";
  const auto model = load_files(files);
  EXPECT_TRUE(model.ok()) << model.status();
}

TEST(Meta, RanksBecomeOneNetwork) {
  const auto one = load_files(MetaDraft::good(1).files());
  const auto two = load_files(MetaDraft::good(2).files());
  const auto named = load_files(MetaDraft::good(2).files(), "consolidated.01.pth");
  ASSERT_TRUE(one.ok() && two.ok() && named.ok()) << one.status() << two.status() << named.status();
  EXPECT_EQ(one->spec, two->spec);
  EXPECT_EQ(one->spec, named->spec);
  EXPECT_EQ(two->spec.context_tokens, 2048u);
  EXPECT_EQ(two->spec.vocabulary, 8u);
  EXPECT_EQ(two->provenance.container, "Meta, 2 ranks");
}

// Three slices of a name in all, but not one in each rank.
TEST(Meta, ANameTwiceInARankIsNotASliceOfAnother) {
  MetaDraft draft = MetaDraft::good(1);
  draft.ranks.resize(3, draft.ranks.front());
  draft.ranks[1].tensors.push_back(draft.ranks[1].tensors.back());
  draft.ranks[1].tensors.back().key = "of its own";
  draft.ranks[2].tensors.pop_back();
  draft.params.set("n_kv_heads", 3);
  EXPECT_EQ(rejection_site(load_files(draft.files()).status()), "container.tensor_twice");
}

TEST(Meta, AnEmbeddingMayBeCutByItsVocabulary) {
  MetaDraft draft = MetaDraft::good(2);
  for (TorchDraft& rank : draft.ranks) {
    rank.tensors[0].shape = {4, 32};
    rank.tensors[0].strides = {32, 1};
  }
  const auto model = load_files(draft.files());
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ(model->spec.vocabulary, 8u);
}

TEST(Meta, RopeScalingIsThatOfTheCodeUnlessAConfigurationSaysOtherwise) {
  MetaDraft draft = MetaDraft::good(1);
  draft.params.set("use_scaled_rope", true);
  Files files = draft.files();
  const auto scaling = [](const model::Model& model) {
    return std::get<model::RopeLlama3>(std::get<model::SoftmaxAttention>(model.spec.layers[0].mixer).rope->scaling);
  };
  const auto plain = load_files(files);
  ASSERT_TRUE(plain.ok()) << plain.status();
  EXPECT_EQ(scaling(*plain).factor, 8);
  files["config.json"] = R"({"max_position_embeddings": 64, "rope_scaling": {"rope_type": "llama3", "factor": 32.0,
      "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 8192}})";
  const auto beside = load_files(files);
  ASSERT_TRUE(beside.ok()) << beside.status();
  EXPECT_EQ(scaling(*beside).factor, 32);
  EXPECT_EQ(beside->spec.context_tokens, 64u);
}

// Mistral's own files: one rank of Meta's names in safetensors.
TEST(Meta, NamesMayLieInSafetensors) {
  MetaDraft meta = MetaDraft::good(1);
  SafetensorsDraft draft;
  for (const TorchDraftTensor& tensor : meta.ranks[0].tensors)
    draft.add(tensor.name, "F32", {tensor.shape.begin(), tensor.shape.end()},
              4 * static_cast<uint64_t>(tensor.elements));
  meta.params.set("hidden_dim", 48);
  meta.params.set("head_dim", 16);
  meta.params.set("sliding_window", 32);
  const auto model = load_files({{"consolidated.safetensors", draft.text()}, {"params.json", meta.params.dump()}});
  ASSERT_TRUE(model.ok()) << model.status();
  const auto& attention = std::get<model::SoftmaxAttention>(model->spec.layers[0].mixer);
  EXPECT_EQ(attention.rope->pairs, model::RopePairs::kInterleaved);
  EXPECT_EQ(attention.window, 32u);
}

std::vector<std::byte> counted(uint8_t first, size_t count) {
  std::vector<std::byte> bytes(count);
  for (size_t i = 0; i < count; ++i) bytes[i] = static_cast<std::byte>(first + i);
  return bytes;
}

TEST(JoinedSource, RowsOfThePartsLieSideBySide) {
  const auto a = memory_source("a", counted(0, 8)), b = memory_source("b", counted(100, 8));
  const std::vector<JoinedPart> parts = {{a, {2, 6}}, {b, {2, 6}}};
  const auto expect_every_range = [](const ByteSource& source, const std::vector<uint8_t>& want) {
    ASSERT_EQ(source.size_bytes(), want.size());
    for (size_t begin = 0; begin <= want.size(); ++begin)
      for (size_t size = 0; begin + size <= want.size(); ++size) {
        std::vector<std::byte> got(size);
        ASSERT_TRUE(source.read(begin, got).ok());
        for (size_t i = 0; i < size; ++i) EXPECT_EQ(static_cast<uint8_t>(got[i]), want[begin + i]);
      }
    std::vector<std::byte> more(2);
    EXPECT_FALSE(source.read(want.size() - 1, more).ok());
  };
  expect_every_range(*join_sources("side by side", parts, 2, 3), {2, 3, 4, 102, 103, 104, 5, 6, 7, 105, 106, 107});
  expect_every_range(*join_sources("behind", parts, 1, 6), {2, 3, 4, 5, 6, 7, 102, 103, 104, 105, 106, 107});
}

TEST(Npz, AnArchiveIsReadAsTheSameNetworkAsSafetensors) {
  const auto draft = SafetensorsDraft::parse(read_model("tiny/untied-hf")["model.safetensors"]);
  ZipDraft zip;
  for (const auto& [name, entry] : draft.header) {
    if (entry.find("shape") == nullptr) continue;
    std::string shape = "(";
    for (const Json& size : *entry.find("shape")->as_array()) shape += size.dump() + ", ";
    const bool list = entry.find("shape")->as_array()->size() == 1;
    const auto& offsets = *entry.find("data_offsets")->as_array();
    const std::string data = draft.data.substr(*offsets[0].as_uint(), *offsets[1].as_uint() - *offsets[0].as_uint());
    zip.entries.push_back(stored(name + ".npy", npy("<f2", list ? "True" : "False", shape + ")", data)));
  }
  const auto want = load_files(read_model("tiny/untied-hf"));
  const auto got = load_files(with_weights("weights.npz", zip.text()));
  ASSERT_TRUE(got.ok()) << got.status();
  EXPECT_EQ(got->spec, want->spec);
  for (const auto& [role, weight] : want->weights) {
    const auto bytes = [](const model::Weight& w) { return *read_range(*w.codes.source, w.codes.range, 1 << 20); };
    EXPECT_EQ(bytes(got->weights.at(role)), bytes(weight)) << model::describe(role);
  }
}

TEST(Npz, TwoRawBytesAreBf16) {
  ZipDraft zip;
  zip.entries.push_back(stored("a.npy", npy("<V2", "False", "(2, 2)", std::string(8, '\0'))));
  Files files = {{"weights.npz", zip.text()}, {"config.json", "{}"}};
  const auto container = open_container(*file_set(files), "");
  ASSERT_TRUE(container.ok()) << container.status();
  EXPECT_EQ(container->tensors[0].type, StoredType(tensor::DType::kBF16));
}

TEST(Llama2c, Version1HoldsFloatsInAnotherOrder) {
  const auto model = load_files({{"model.bin", llama2c_text(1, 0)}});
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ(model->provenance.container, "llama2.c v1");
  EXPECT_EQ(model->spec.hidden, 32u);
  EXPECT_EQ(model->weights.at({.part = model::Part::kMixerNorm}).codes.range.offset, 256u);
  EXPECT_EQ(model->weights.at({.part = model::Part::kEmbedding}).codes.range.offset, 256u + 3 * 32 * 4);
}

TEST(Llama2c, Version2HoldsBytesAndAScaleForEachGroup) {
  const auto container = open_container(*file_set({{"model.bin", llama2c_text(2, 16)}}), "");
  ASSERT_TRUE(container.ok()) << container.status();
  EXPECT_EQ(container->kind, "llama2.c v2");
  EXPECT_EQ(container->metadata.tree.find("group_size")->as_int(), 16);
  ASSERT_EQ(container->tensors[3].name, "tok_emb.weight");
  EXPECT_EQ(container->tensors[3].type, StoredType(tensor::DType::kI8));
  EXPECT_EQ(container->tensors[3].shape, (std::vector<uint64_t>{8, 32}));
  ASSERT_EQ(container->tensors[4].name, "tok_emb.scales");
  EXPECT_EQ(container->tensors[4].shape, (std::vector<uint64_t>{8 * 32 / 16}));
  EXPECT_EQ(container->tensors[5].name, "wq.0.weight");
  EXPECT_EQ(container->tensors.back().range.end(), llama2c_text(2, 16).size());
}

}  // namespace
}  // namespace motley::ingest::testing
