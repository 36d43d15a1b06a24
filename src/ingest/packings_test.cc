// What the tensors of each packing are read as.
#include <gtest/gtest.h>

#include "ingest/load.h"
#include "ingest/testing/packed_drafts.h"

namespace motley::ingest::testing {
namespace {

using model::Part;
using model::Slot;

StatusOr<model::Model> load_draft(const PackedDraft& draft) { return load_from(*file_set(draft.files()), "", {}); }

std::string matrix_format(const model::Model& model) {
  return tensor::describe(model.weights.at({.part = Part::kDown, .slot = Slot::kWeight, .layer = 1}).format);
}

TEST(Packings, EveryLayoutIsReadAsItWasWritten) {
  for (const PackedLayout& layout : packed_layouts()) {
    const auto model = load_draft(PackedDraft::of(layout.name));
    ASSERT_TRUE(model.ok()) << layout.name << ": " << model.status();
    EXPECT_EQ(matrix_format(*model), layout.format) << layout.name;
  }
}

// The file's own quantiser wrote these; the logits of tests/reference say that the numbers are right.
TEST(Packings, EveryPackedCheckpointIsReadAsItWasWritten) {
  const std::map<std::string, std::string> formats = {
      {"gptq-4bit-g128-act", "GPTQ 4-bit integers, groups of 128, bf16 scales, zero points"},
      {"gptq-3bit-g64", "GPTQ 3-bit integers, groups of 64, bf16 scales, zero points"},
      {"awq-4bit-g64-gemm", "AWQ 4-bit integers, groups of 64, bf16 scales, zero points"},
      {"bnb-nf4-double", "bitsandbytes 4-bit nf4, groups of 64, u8 scales, scales quantised too"},
      {"bnb-int8", "bitsandbytes 8-bit integers, a scale for each row, f32 scales"},
      {"ct-w3a16-g64", "compressed-tensors 3-bit integers, groups of 64, bf16 scales"},
      {"ct-w4a16-asym-g128", "compressed-tensors 4-bit integers, groups of 128, bf16 scales, zero points"},
      {"ct-nvfp4", "compressed-tensors nvfp4 4-bit e2m1, groups of 16, f8_e4m3 scales"},
      {"ct-mixed", "FP8 8-bit e4m3, a scale for each row, bf16 scales"},
      {"fp8-block128", "FP8 8-bit e4m3, blocks of 128 x 128, f32 scales"},
      {"hqq-3bit-g64", "HQQ 3-bit integers, groups of 64, f32 scales, float zero points"},
      {"torchao-intx4wo-g32", "torchao 8-bit integers, groups of 32, bf16 scales, zero points"}};
  for (const auto& [name, format] : formats) {
    const auto model = load("tests/data/models/" + name, {});
    ASSERT_TRUE(model.ok()) << name << ": " << model.status();
    EXPECT_EQ(matrix_format(*model), format) << name;
  }
}

TEST(Packings, GroupsLongerThanARowAreTheRow) {
  PackedDraft draft = PackedDraft::of("gptq");
  draft.put("qzeros I32 1 4");
  draft.put("scales F16 1 32");
  draft.put("g_idx I32 64");
  draft.config.set("group_size", (int64_t{1} << 32) + 32);  // not 32
  const auto model = load_draft(draft);
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ(matrix_format(*model), "GPTQ 4-bit integers, groups of 64, f16 scales, zero points");
}

TEST(Packings, BlocksTallerThanTheMatrixAreTheMatrix) {
  PackedDraft draft = PackedDraft::of("fp8");
  draft.put("weight_scale_inv F32 1 2");
  draft.config.set("weight_block_size", Json::Array{(int64_t{1} << 32) + 16, 32});
  const auto model = load_draft(draft);
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ(matrix_format(*model), "FP8 8-bit e4m3, blocks of 32 x 32, f32 scales");
}

// vllm issue 38966.
TEST(Packings, ZeroPointsOfTheOtherConventionAreNoted) {
  PackedDraft draft = PackedDraft::of("gptq");
  draft.config.set("sym", true);
  draft.put("qzeros I32 2 4 =-2004318072");  // 0x88888888, as gptq_v2 stores 8
  const auto model = load_draft(draft);
  ASSERT_TRUE(model.ok()) << model.status();
  const auto& weight = model->weights.at({.part = Part::kDown, .slot = Slot::kWeight, .layer = 1});
  EXPECT_EQ(weight.format.grouping.offset_order, tensor::OffsetOrder::kGptqV2);
  ASSERT_FALSE(model->provenance.notes.empty());
  EXPECT_NE(model->provenance.notes.back().find("gptq_v2"), std::string::npos);
}

TEST(Packings, OfAnotherMethodAreNotReadAsTheTensorsLook) {
  PackedDraft draft = PackedDraft::of("gptq");
  for (const char* method : {"exl2", "exl3", "aqlm", "vptq", "spqr", "eetq", "higgs", "bitnet", "quark"}) {
    draft.config.set("quant_method", method);
    const Status status = load_draft(draft).status();
    EXPECT_EQ(rejection_site(status), "methods.unknown") << method;
    EXPECT_NE(status.message().find(method), std::string::npos) << status;
  }
}

TEST(Packings, OfOtherEnginesAreRefusedByTheirNames) {
  const std::map<std::string, std::string> suffixes = {{"q_weight", "EXL2"},
                                                       {"trellis", "EXL3"},
                                                       {"codebooks", "AQLM"},
                                                       {"centroids.weight", "VPTQ"},
                                                       {"dense_weights", "SpQR"},
                                                       {"weight_g_idx_perm", "Marlin"},
                                                       {"B", "Marlin"}};
  for (const auto& [suffix, name] : suffixes) {
    PackedDraft draft;
    draft.put(suffix + " I32 4 32");
    const Status status = load_draft(draft).status();
    EXPECT_EQ(rejection_site(status), "foreign.tensor") << suffix;
    EXPECT_NE(status.message().find(name), std::string::npos) << status;
  }
}

TEST(Packings, WordsThatWereRepackedForOneKernelAreRefused) {
  PackedDraft draft = PackedDraft::of("gptq");
  draft.config.set("is_marlin_format", true);
  EXPECT_EQ(rejection_site(load_draft(draft).status()), "words.layout");
}

TEST(Packings, OneTensorInTwoShardsIsRefused) {
  Files files = read_model("tiny/sharded-hf");
  const std::string first = "model-00001-of-00003.safetensors", last = "model-00003-of-00003.safetensors";
  SafetensorsDraft draft = SafetensorsDraft::parse(files[first]);
  for (const auto& [name, entry] : SafetensorsDraft::parse(files[last]).header)
    if (name != "__metadata__") draft.add(name, "F16", {1}, 2);
  files[first] = draft.text();
  EXPECT_EQ(rejection_site(load_from(*file_set(files), "", {}).status()), "container.tensor_twice");
}

}  // namespace
}  // namespace motley::ingest::testing
