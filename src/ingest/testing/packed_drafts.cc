#include "ingest/testing/packed_drafts.h"

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <sstream>

namespace motley::ingest::testing {
namespace {

constexpr const char* kGptq = R"({"quant_method":"gptq","bits":4,"group_size":32,"desc_act":true})";
constexpr const char* kNf4 = R"({"load_in_4bit":true,"bnb_4bit_quant_type":"nf4"})";
constexpr const char* kHqq = R"({"quant_method":"hqq"})";
constexpr const char* kTorchao = R"({"quant_method":"torchao"})";

// compressed-tensors with one group.
std::string ct(std::string_view format, std::string_view weights) {
  return fmt::format(
      R"({{"quant_method":"compressed-tensors","format":"{}","config_groups":{{"group_0":{{"targets":["{}"],"weights":{{{}}}}}}}}})",
      format, PackedDraft::kMatrix, weights);
}

constexpr std::string_view kPacked4 =
    R"("num_bits":4,"type":"int","symmetric":false,"strategy":"group","group_size":32)";
constexpr std::string_view kPacked3 =
    R"("num_bits":3,"type":"int","symmetric":true,"strategy":"group","group_size":32)";
constexpr std::string_view kInt8 = R"("num_bits":8,"type":"int","symmetric":false,"strategy":"channel")";
constexpr std::string_view kNvfp4 = R"("num_bits":4,"type":"float","strategy":"tensor_group","group_size":16)";
constexpr std::string_view kMxfp4 = R"("num_bits":4,"type":"float","strategy":"group","group_size":32)";

const std::vector<PackedLayout>& layouts() {
  static const std::vector<PackedLayout> rows = {
      {"gptq", "GPTQ 4-bit integers, groups of 32, f16 scales, zero points", kGptq,
       "qweight I32 8 32; qzeros I32 2 4; scales F16 2 32; g_idx I32 64"},
      {"awq", "AWQ 4-bit integers, groups of 32, f16 scales, zero points",
       R"({"quant_method":"awq","bits":4,"group_size":32,"version":"GEMM"})",
       "qweight I32 64 4; qzeros I32 2 4; scales F16 2 32"},
      {"awq-gemv", "AWQ gemv 4-bit integers, groups of 32, f16 scales, zero points",
       R"({"quant_method":"awq","bits":4,"group_size":32,"version":"gemv"})",
       "qweight I32 32 8; qzeros I32 32 4; scales F16 32 32"},
      {"awq-gemv-fast", "AWQ gemv_fast 4-bit integers, groups of 32, f16 scales, biases",
       R"({"quant_method":"awq","bits":4,"group_size":32,"version":"gemv_fast"})",
       "qweight I16 8 64; qzeros F16 32 32; scales F16 32 32"},
      {"llm-awq", "AWQ gemv_fast 4-bit integers, groups of 32, f16 scales, biases",
       R"({"quant_method":"awq","w_bit":4,"q_group_size":32})",
       "qweight I16 8 64; scaled_zeros F16 32 32; scales F16 32 32"},
      {"bnb-nf4", "bitsandbytes 4-bit nf4, groups of 64, f32 scales", kNf4,
       "weight U8 1024 1; weight.absmax F32 32; weight.quant_map F32 16; weight.quant_state.bitsandbytes__nf4 U8 1"},
      {"bnb-nested", "bitsandbytes 4-bit nf4, groups of 64, u8 scales, scales quantised too", kNf4,
       "weight BF16 512 1; weight.absmax U8 32; weight.quant_map F32 16; weight.nested_absmax F32 1; "
       "weight.nested_quant_map F32 256; weight.quant_state.bitsandbytes__nf4 U8 1"},
      {"bnb-int8", "bitsandbytes 8-bit integers, a scale for each row, f32 scales", R"({"load_in_8bit":true})",
       "weight I8 32 64; SCB F32 32; weight_format U8"},
      {"ct-int4", "compressed-tensors 4-bit integers, groups of 32, bf16 scales, zero points",
       ct("pack-quantized", kPacked4),
       "weight_packed I32 32 8; weight_scale BF16 32 2; weight_zero_point I32 4 2; weight_shape I64 2"},
      {"ct-whole-3", "compressed-tensors 3-bit integers, groups of 32, bf16 scales", ct("pack-quantized", kPacked3),
       "weight_packed I32 32 7; weight_scale BF16 32 2; weight_shape I64 2"},
      {"ct-nvfp4", "compressed-tensors nvfp4 4-bit e2m1, groups of 16, f8_e4m3 scales",
       ct("nvfp4-pack-quantized", kNvfp4),
       "weight_packed U8 32 32; weight_scale F8_E4M3 32 4; weight_global_scale F32 1 =1"},
      {"ct-mxfp4", "compressed-tensors mxfp4 4-bit e2m1, groups of 32, f8_e8m0 scales",
       ct("mxfp4-pack-quantized", kMxfp4), "weight_packed U8 32 32; weight_scale U8 32 2"},
      {"ct-int8", "int8 8-bit integers, a scale for each row, f32 scales, zero points", ct("int-quantized", kInt8),
       "weight I8 32 64; weight_scale F32 32 1; weight_zero_point I8 32 1"},
      {"fp8", "FP8 8-bit e4m3, blocks of 16 x 32, f32 scales",
       R"({"quant_method":"fp8","fmt":"e4m3","weight_block_size":[16,32]})",
       "weight F8_E4M3 32 64; weight_scale_inv F32 2 2"},
      {"fp8-e5m2", "FP8 8-bit e5m2, one scale, f32 scales", R"({"quant_method":"fp8"})",
       "weight F8_E5M2 32 64; weight_scale F32 =1"},
      {"fbgemm", "FP8 8-bit e4m3, a scale for each row, f32 scales", R"({"quant_method":"fbgemm_fp8"})",
       "weight F8_E4M3 32 64; weight_scale F32 32 1"},
      {"hqq-1", "HQQ 1-bit integers, groups of 32, f16 scales, float zero points", kHqq,
       "W_q U8 8 32; scale F16 64 1; zero F16 64 1; nbits I32 =1; group_size I32 =32; axis I32 =1"},
      {"hqq-3", "HQQ 3-bit integers, groups of 32, f16 scales, float zero points", kHqq,
       "W_q I32 7 32; scale F16 64 1; zero F16 64 1; nbits I32 =3; group_size I32 =32; axis I32 =1"},
      {"hqq-4", "HQQ 4-bit integers, groups of 32, f16 scales, float zero points", kHqq,
       "W_q U8 32 32; scale F16 64 1; zero F16 64 1; nbits I64 =4; group_size I32 =32; axis U8 =1; round_zero BOOL"},
      {"hqq-8", "HQQ 8-bit integers, a scale for each row, f32 scales, float zero points", kHqq,
       "W_q U8 32 64; scale F32 32 1; zero F32 32 1; nbits I32 =8"},
      {"torchao-int8", "torchao 8-bit integers, groups of 32, bf16 scales, zero points", kTorchao,
       "_weight_qdata I8 32 64; _weight_scale BF16 32 2; _weight_zero_point I8 32 2"},
      {"torchao-int4", "torchao int4 4-bit integers, groups of 32, bf16 scales, biases", kTorchao,
       "_weight_qdata I8 32 32; _weight_scale BF16 2 32; _weight_zero_point BF16 2 32"},
      {"torchao-fp8", "torchao 8-bit e4m3, one scale, f32 scales", kTorchao,
       "_weight_qdata F8_E4M3 32 64; _weight_scale F32"},
      {"quanto-int8", "quanto 8-bit integers, a scale for each row, f32 scales", "",
       "weight._data I8 32 64; weight._scale F32 32 1; output_scale F32"},
      {"quanto-int4", "quanto 4-bit integers, groups of 32, f16 scales, shifts", "",
       "weight._data._data U8 32 32; weight._scale F16 64 1; weight._shift F16 64 1"},
      {"quanto-int2", "quanto 2-bit integers, groups of 32, f16 scales, zero points", "",
       "weight._data._data U8 16 32; weight._scale F16 64 1; weight._shift I8 64 1"},
      {"modelopt-nvfp4", "modelopt NVFP4 4-bit e2m1, groups of 16, f8_e4m3 scales",
       R"({"quant_method":"modelopt","quant_algo":"NVFP4","group_size":16})",
       "weight U8 32 32; weight_scale F8_E4M3 32 4; weight_scale_2 F32 =1; input_scale F32 =1"},
      {"modelopt-int4", "modelopt int4 4-bit integers, groups of 32, f32 scales",
       R"({"quant_method":"modelopt","quant_algo":"W4A16_AWQ"})", "weight U8 16 64; weight_scale F32 32 2"},
      {"int8-runs", "llama2.c 8-bit integers, groups of 64, f32 scales", "", "weight I8 32 64; scales F32 32"},
      {"metal", "MLX affine 4-bit, groups of 32, bf16 scales", R"({"quant_method":"metal","bits":4,"group_size":32})",
       "weight U32 32 8; scales BF16 32 2; qbiases BF16 32 2"},
  };
  return rows;
}

[[noreturn]] void give_up(const std::string& what) {
  std::cerr << "a test's draft is wrong: " << what << std::endl;
  std::abort();
}

std::string element(const std::string& dtype, double value) {
  if (dtype == "F32") return raw(static_cast<float>(value));
  if (dtype == "I32" || dtype == "U32") return raw(static_cast<int32_t>(value));
  if (dtype == "I64") return raw(static_cast<int64_t>(value));
  if (dtype == "U8" || dtype == "I8" || dtype == "BOOL") return raw(static_cast<int8_t>(value));
  if (value != 0) give_up("no way to write a number as " + dtype);
  return std::string(dtype.starts_with("F8") ? 1 : 2, '\0');
}

template <typename T>
std::string numbers(const std::vector<T>& values) {
  std::string bytes;
  for (const T value : values) bytes += raw(value);
  return bytes;
}

// Group k / 32 of each input.
std::string group_numbers() {
  std::vector<int32_t> groups(64);
  for (size_t k = 0; k < groups.size(); ++k) groups[k] = static_cast<int32_t>(k / 32);
  return numbers(groups);
}

std::string nf4_values() {
  return numbers<float>({-1.0f, -0.6961928f, -0.52507305f, -0.3949175f, -0.28444138f, -0.18477343f, -0.09105004f, 0.0f,
                         0.0795803f, 0.1609302f, 0.2461123f, 0.33791524f, 0.44070983f, 0.562617f, 0.72295684f, 1.0f});
}

// What cannot be zero.
void fill_in(PackedDraft& draft) {
  const bool nested = draft.tensors.contains("weight.nested_absmax");
  for (auto& [suffix, stored] : draft.tensors) {
    if (suffix == "g_idx") stored.bytes = group_numbers();
    if (suffix == "weight_shape") stored.bytes = numbers<int64_t>({32, 64});
    if (suffix == "weight.quant_map") stored.bytes = nf4_values();
    if (suffix != "weight.quant_state.bitsandbytes__nf4") continue;
    stored.bytes = nested ? R"({"blocksize":64,"shape":[32,64],"nested_blocksize":256,"nested_offset":0.5})"
                          : R"({"blocksize":64,"shape":[32,64]})";
    stored.shape = {stored.bytes.size()};
  }
}

}  // namespace

std::span<const PackedLayout> packed_layouts() { return layouts(); }

PackedDraft PackedDraft::of(std::string_view layout) {
  const auto found =
      std::find_if(layouts().begin(), layouts().end(), [&](const auto& row) { return row.name == layout; });
  if (found == layouts().end()) give_up("no layout " + std::string(layout));
  PackedDraft draft;
  if (!found->config.empty()) draft.config = *parse_json(found->config, "a test's configuration");
  std::istringstream tensors{std::string(found->tensors)};
  for (std::string tensor; std::getline(tensors, tensor, ';');) draft.put(tensor);
  fill_in(draft);
  return draft;
}

void PackedDraft::put(const std::string& tensor) {
  std::istringstream words(tensor);
  std::string suffix, word;
  Stored stored;
  double value = 0;
  words >> suffix >> stored.dtype;
  while (words >> word) {
    if (word.starts_with("=")) {
      value = std::stod(word.substr(1));
    } else {
      stored.shape.push_back(std::stoull(word));
    }
  }
  uint64_t count = 1;
  for (const uint64_t size : stored.shape) count *= size;
  for (uint64_t i = 0; i < count; ++i) stored.bytes += element(stored.dtype, value);
  tensors[suffix] = std::move(stored);
}

Files PackedDraft::files() const {
  Files files = read_model("tiny/untied-hf");
  SafetensorsDraft draft = SafetensorsDraft::parse(files["model.safetensors"]);
  draft.rename(std::string(kMatrix) + ".weight", "vision_tower.was_dense");  // which is ignored
  for (const auto& [suffix, stored] : tensors) {
    draft.add(std::string(kMatrix) + "." + suffix, stored.dtype, stored.shape, stored.bytes.size());
    draft.data.replace(draft.data.size() - stored.bytes.size(), stored.bytes.size(), stored.bytes);
  }
  files["model.safetensors"] = draft.text();
  if (config.is_null()) return files;
  Json tree = *parse_json(files["config.json"], "a test's configuration");
  tree.set("quantization_config", config);
  files["config.json"] = tree.dump();
  return files;
}

}  // namespace motley::ingest::testing
