// Packed matrices with one fault each: a tensor that is missing, of another type or shape, or at odds with the
// configuration. Every row bends one of the drafts.
#include "ingest/testing/broken.h"
#include "ingest/testing/packed_drafts.h"

namespace motley::ingest::testing {
namespace {

using Bend = std::function<void(PackedDraft&)>;

BrokenInput row(std::string_view layout, std::string what, std::string site, Bend bend) {
  return {std::move(what),
          std::move(site),
          [layout, bend = std::move(bend)] {
            PackedDraft draft = PackedDraft::of(layout);
            bend(draft);
            return draft.files();
          },
          "",
          {}};
}

Bend without(std::string suffix) {
  return [suffix = std::move(suffix)](PackedDraft& draft) { draft.tensors.erase(suffix); };
}

Bend with(std::string tensor) {
  return [tensor = std::move(tensor)](PackedDraft& draft) { draft.put(tensor); };
}

Bend saying(std::string key, Json value) {
  return [key = std::move(key), value = std::move(value)](PackedDraft& draft) { draft.config.set(key, value); };
}

constexpr const char* kState = "weight.quant_state.bitsandbytes__nf4";

// Writes other JSON where bitsandbytes keeps its notes.
Bend state(std::string json) {
  return [json = std::move(json)](PackedDraft& draft) { draft.tensors[kState] = {"U8", {json.size()}, json}; };
}

Bend g_idx(size_t input, int32_t group) {
  return [=](PackedDraft& draft) { draft.tensors["g_idx"].bytes.replace(4 * input, 4, raw(group)); };
}

std::vector<BrokenInput> words() {
  return {
      row("gptq", "words that are bytes", "words.qweight_type", with("qweight U8 32 32")),
      row("gptq", "words of five bits", "words.qweight_shape", with("qweight I32 10 32")),
      row("gptq", "planes of bits, in as many words", "words.layout", saying("checkpoint_format", "gptq_p")),
      row("gptq", "no scales", "words.scales_missing", without("scales")),
      row("gptq", "scales that are integers", "words.scales_type", with("scales I32 2 32")),
      row("gptq", "scales with the outputs first", "words.scales_shape", with("scales F16 32 2")),
      row("gptq", "no zero points", "words.qzeros_missing", without("qzeros")),
      row("gptq", "zero points that are floats", "words.qzeros_type", with("qzeros F32 2 4")),
      row("awq", "zero points for every input", "words.qzeros_shape", with("qzeros I32 64 4")),
      row("gptq", "symmetric, with zero points off by more than one convention", "words.symmetric_zeros",
          [](PackedDraft& draft) {
            draft.config.set("sym", true);
            draft.put("qzeros I32 2 4 =1717986918");  // 0x66666666
          }),
      row("gptq", "act-order without its order", "words.g_idx_missing", without("g_idx")),
      row("gptq", "an order of too few inputs", "words.g_idx_shape", with("g_idx I32 63")),
      row("gptq", "an order of floats", "words.g_idx_type", with("g_idx F32 64")),
      row("gptq", "an order into a group that is not there", "words.g_idx_range", g_idx(7, -1)),
      row("gptq", "an order with a group too full", "words.g_idx_counts", g_idx(0, 1)),
  };
}

std::vector<BrokenInput> bitsandbytes() {
  return {
      row("bnb-nf4", "no weight beside its scales", "bnb.weight_missing", without("weight")),
      row("bnb-nf4", "no notes", "bnb.state_missing", without(kState)),
      row("bnb-nf4", "no scales", "bnb.absmax_missing", without("weight.absmax")),
      row("bnb-nf4", "scales of a byte without a second level", "bnb.absmax_type", with("weight.absmax U8 32")),
      row("bnb-nf4", "no codebook", "bnb.quant_map_missing", without("weight.quant_map")),
      row("bnb-nf4", "a codebook of eight", "bnb.quant_map_shape", with("weight.quant_map F32 8")),
      row("bnb-nf4", "a codebook of somebody else", "bnb.quant_map", with("weight.quant_map F32 16 =0.5")),
      row("bnb-nf4", "blocks of none", "bnb.state_number", state(R"({"blocksize":0,"shape":[32,64]})")),
      row("bnb-nf4", "notes about another matrix", "bnb.state_shape", state(R"({"blocksize":64,"shape":[64,32]})")),
      row("bnb-nf4", "nf4 that is said to be fp4", "bnb.type_claimed", saying("bnb_4bit_quant_type", "fp4")),
      row("bnb-nf4", "half of the nibbles", "packing.part_bytes", with("weight U8 512 1")),
      row("bnb-nested", "scales of two levels that are floats", "bnb.nested_absmax_type", with("weight.absmax F32 32")),
      row("bnb-nested", "no scales of the second level", "bnb.nested_absmax_missing", without("weight.nested_absmax")),
      row("bnb-nested", "scales of the second level in half", "bnb.outer_absmax_type",
          with("weight.nested_absmax F16 2")),
      row("bnb-nested", "no table of the first level", "bnb.nested_map_missing", without("weight.nested_quant_map")),
      row("bnb-nested", "a table in half", "bnb.nested_map_type", with("weight.nested_quant_map F16 512")),
      row("bnb-nested", "an offset that no float holds", "bnb.nested_offset",
          state(R"({"blocksize":64,"shape":[32,64],"nested_blocksize":256,"nested_offset":1e300})")),
      row("bnb-int8", "no weight beside its statistics", "bnb.int8_missing", without("weight")),
      row("bnb-int8", "statistics beside unsigned bytes", "bnb.int8_type", with("weight U8 32 64")),
      row("bnb-int8", "bytes with the inputs first", "bnb.int8_shape", with("weight I8 64 32")),
      row("bnb-int8", "statistics in half", "bnb.scb_type", with("SCB F16 32")),
      row("bnb-int8", "statistics of the inputs", "bnb.scb_shape", with("SCB F32 64")),
      row("bnb-int8", "tiles of a card", "bnb.weight_format", with("weight_format U8 =2")),
  };
}

std::vector<BrokenInput> compressed_tensors() {
  return {
      row("ct-int4", "packed floats", "ct.packed_type", with("weight_packed F32 32 8")),
      row("ct-int4", "words of five bits", "ct.packed_shape", with("weight_packed I32 32 10")),
      row("ct-int4", "no shape", "ct.shape_missing", without("weight_shape")),
      row("ct-int4", "a shape in floats", "ct.shape_type", with("weight_shape F32 2 =32")),
      row("ct-int4", "the shape of another matrix", "ct.stated_shape", with("weight_shape I64 2 =32")),
      row("ct-int4", "no scales", "ct.scale_missing", without("weight_scale")),
      row("ct-int4", "scales that are bytes", "ct.scale_type", with("weight_scale U8 32 2")),
      row("ct-int4", "scales with the groups first", "ct.scale_shape", with("weight_scale BF16 2 32")),
      row("ct-int4", "asymmetric without zero points", "ct.zero_missing", without("weight_zero_point")),
      row("ct-int4", "zero points that are not packed", "ct.zero_type", with("weight_zero_point I8 32 2")),
      row("ct-int4", "zero points packed along the groups", "ct.zero_shape", with("weight_zero_point I32 32 1")),
      row("ct-int4", "inputs in another order", "ct.g_idx", with("weight_g_idx I32 64")),
      row("ct-nvfp4", "nibbles with the inputs first", "ct.fp4_shape", with("weight_packed U8 64 16")),
      row("ct-nvfp4", "nibbles without scales", "ct.fp4_scale_missing", without("weight_scale")),
      row("ct-nvfp4", "nibbles with scales of floats", "ct.fp4_scale_type", with("weight_scale F32 32 4")),
      row("ct-nvfp4", "nibbles with scales for blocks of 32", "ct.fp4_scale_shape", with("weight_scale F8_E4M3 32 2")),
      row("ct-nvfp4", "no scale of the tensor", "ct.global_scale_missing", without("weight_global_scale")),
      row("ct-nvfp4", "a scale of the tensor in half", "ct.global_scale_type", with("weight_global_scale F16 2")),
      row("ct-nvfp4", "a scale of the tensor that is not a number", "packing.outer_scale",
          with("weight_global_scale F32 1 =nan")),
  };
}

std::vector<BrokenInput> whole_bytes() {
  return {
      row("fp8", "bytes with the inputs first", "scaled.shape", with("weight F8_E4M3 64 32")),
      row("fp8", "no scales", "scaled.scale_missing", without("weight_scale_inv")),
      row("fp8", "scales of both names", "scaled.two_scales", with("weight_scale F32 2 2")),
      row("fp8", "scales that are integers", "scaled.scale_type", with("weight_scale_inv I32 2 2")),
      row("fp8", "scales for other blocks", "scaled.scale_shape", with("weight_scale_inv F32 4 4")),
      row("fp8", "zero points beside floats", "scaled.zero_of_float", with("weight_zero_point I8 2 2")),
      row("ct-int8", "zero points in four bytes", "scaled.zero_type", with("weight_zero_point I32 32 1")),
      row("ct-int8", "zero points of another shape than the scales", "packing.offset_shape",
          with("weight_zero_point I8 1 32")),
      row("int8-runs", "runs with the inputs first", "llama2c_int8.shape", with("weight I8 64 32")),
      row("int8-runs", "runs with scales in half", "llama2c_int8.scale_type", with("scales F16 32")),
      row("int8-runs", "runs of no whole length", "llama2c_int8.scale_count", with("scales F32 33")),
      row("fbgemm", "one scale where there should be one a row", "packing.group_rows_claimed",
          with("weight_scale F32 1")),
  };
}

std::vector<BrokenInput> hqq() {
  return {
      row("hqq-4", "a width in floats", "hqq.option_type", with("nbits F32 =4")),
      row("hqq-4", "no width", "hqq.nbits", without("nbits")),
      row("hqq-4", "groups along the outputs", "hqq.axis", with("axis I32 =0")),
      row("hqq-4", "scales that are packed too", "hqq.nested", with("quant_scale BOOL =1")),
      row("hqq-4", "groups longer than the row", "hqq.group_size", with("group_size I32 =128")),
      row("hqq-4", "a width that shares no byte", "quant.grouped_bits", with("nbits I32 =5")),
      row("hqq-4", "groups that end inside the row", "quant.code_words",
          [](PackedDraft& draft) {
            draft.put("group_size I32 =48");
            draft.put("scale F16 42 1");
          }),
      row("hqq-4", "no scales", "hqq.scale_missing", without("scale")),
      row("hqq-4", "no zero points", "hqq.zero_missing", without("zero")),
      row("hqq-4", "scales that are integers", "hqq.scale_type", with("scale I32 64 1")),
      row("hqq-4", "zero points that are integers", "hqq.zero_type", with("zero I32 64 1")),
      row("hqq-4", "scales of the other axis", "hqq.scale_shape", with("scale F16 1 64")),
  };
}

std::vector<BrokenInput> torchao() {
  return {
      row("torchao-int8", "codes in words", "torchao.qdata_type", with("_weight_qdata I32 32 64")),
      row("torchao-int8", "codes with the inputs first", "torchao.shape", with("_weight_qdata I8 64 32")),
      row("torchao-int8", "inputs with a scale of their own", "torchao.act_pre_scale",
          with("_weight_act_pre_scale F32 64")),
      row("torchao-int8", "no scales", "torchao.scale_missing", without("_weight_scale")),
      row("torchao-int8", "scales that are integers", "torchao.scale_type", with("_weight_scale I32 32 2")),
      row("torchao-int8", "scales with the groups first", "torchao.scale_shape", with("_weight_scale BF16 2 32")),
      row("torchao-int8", "zero points that are floats", "torchao.zero_type", with("_weight_zero_point F32 32 2")),
      row("torchao-int4", "no offsets", "torchao.int4_zero_missing", without("_weight_zero_point")),
      row("torchao-int4", "offsets of another type than the scales", "torchao.int4_zero_type",
          with("_weight_zero_point F32 2 32")),
      row("torchao-int4", "scales with the outputs first", "torchao.int4_scale_shape", with("_weight_scale BF16 32 2")),
  };
}

std::vector<BrokenInput> quanto() {
  return {
      row("quanto-int8", "no scales", "quanto.scale_missing", without("weight._scale")),
      row("quanto-int8", "scales that are integers", "quanto.scale_type", with("weight._scale I32 32 1")),
      row("quanto-int8", "codes in words", "quanto.data_type", with("weight._data I32 32 64")),
      row("quanto-int8", "codes with the inputs first", "quanto.data_shape", with("weight._data I8 64 32")),
      row("quanto-int8", "scales of the inputs", "quanto.row_scale_shape", with("weight._scale F32 1 64")),
      row("quanto-int4", "signed bytes of nibbles", "quanto.packed_type", with("weight._data._data I8 32 32")),
      row("quanto-int4", "three bits a code", "quanto.packed_shape", with("weight._data._data U8 24 32")),
      row("quanto-int4", "groups that cross rows", "quanto.scale_shape", with("weight._scale F16 16 1")),
      row("quanto-int4", "no shifts", "quanto.shift_missing", without("weight._shift")),
      row("quanto-int4", "shifts in words", "quanto.shift_type", with("weight._shift I32 64 1")),
  };
}

std::vector<BrokenInput> modelopt() {
  return {
      row("modelopt-nvfp4", "bytes of no known shape", "modelopt.shape", with("weight U8 8 64")),
      row("modelopt-nvfp4", "scales for blocks of 32", "modelopt.scale_shape", with("weight_scale F8_E4M3 32 2")),
      row("modelopt-nvfp4", "no scale of the tensor", "modelopt.scale_2_missing", without("weight_scale_2")),
      row("modelopt-nvfp4", "a scale of the tensor in half", "modelopt.scale_2_type", with("weight_scale_2 F16 2")),
      row("modelopt-int4", "inputs with a scale of their own", "modelopt.pre_quant_scale",
          with("pre_quant_scale F32 64")),
      row("modelopt-int4", "scales of a byte", "modelopt.int4_scale_type", with("weight_scale F8_E4M3 32 2")),
      row("modelopt-int4", "groups that do not divide a row", "modelopt.int4_scale_shape",
          with("weight_scale F32 32 3")),
      row("modelopt-int4", "int4 with scales of two levels", "modelopt.w4a8", with("weight_scale_2 F32 =1")),
  };
}

// A norm as bitsandbytes would pack a matrix of one row.
BrokenInput packed_vector() {
  return {"a norm that is packed",
          "packing.vector",
          [] {
            Files files = read_model("tiny/untied-hf");
            SafetensorsDraft draft = SafetensorsDraft::parse(files["model.safetensors"]);
            draft.rename("model.norm.weight", "vision_tower.was_norm");
            draft.add("model.norm.weight", "I8", {1, 32}, 32);
            draft.add("model.norm.SCB", "F32", {1}, 4);
            files["model.safetensors"] = draft.text();
            return files;
          },
          "",
          {}};
}

}  // namespace

std::vector<BrokenInput> broken_packings() {
  std::vector<BrokenInput> all = {packed_vector()};
  for (auto* part : {words, bitsandbytes, compressed_tensors, whole_bytes, hqq, torchao, quanto, modelopt})
    for (BrokenInput& row : part()) all.push_back(std::move(row));
  return all;
}

// What a configuration says of a quantiser that no checkpoint of it says.
std::vector<BrokenInput> broken_methods() {
  const Json::Object none;
  const auto scheme = [](std::string what, std::string site, std::string key, Json value) {
    return row("ct-int4", std::move(what), std::move(site),
               [key = std::move(key), value = std::move(value)](PackedDraft& draft) {
                 Json weights = *draft.config.find("config_groups")->find("group_0")->find("weights");
                 weights.set(key, value);
                 draft.config.set(
                     "config_groups",
                     Json::Object{{"group_0", Json::Object{{"targets", Json::Array{"re:.*"}}, {"weights", weights}}}});
               });
  };
  return {
      row("gptq", "bits that are a word", "methods.number", saying("bits", "four")),
      row("gptq", "symmetry that is a number", "methods.flag", saying("sym", 1)),
      row("gptq", "a layout that is a number", "methods.text", saying("checkpoint_format", 2)),
      row("gptq", "one name where a list should be", "methods.list", saying("modules_to_not_convert", "lm_head")),
      row("gptq", "a list of numbers for names", "methods.list_item", saying("modules_to_not_convert", Json::Array{1})),
      row("gptq", "a key that nobody knows", "methods.key", saying("rotation", "hadamard")),
      row("gptq", "groups of none", "methods.group_size", saying("group_size", 0)),
      row("gptq", "nine bits", "gptq.config_bits", saying("bits", 9)),
      row("gptq", "words of 16 bits", "gptq.pack_dtype", saying("pack_dtype", "int16")),
      row("gptq", "rules that are a list", "gptq.dynamic", saying("dynamic", Json::Array{1})),
      row("gptq", "a rule that is no expression", "methods.pattern",
          saying("dynamic", Json::Object{{"-:layers.(", none}})),
      row("gptq", "AutoRound of no bits", "auto_round.bits",
          [](PackedDraft& draft) {
            draft.config = Json(Json::Object{{"quant_method", "auto-round"}, {"bits", 0}});
          }),
      row("gptq", "AutoRound with a list of exceptions", "auto_round.extra_config",
          [](PackedDraft& draft) {
            draft.config = Json(Json::Object{{"quant_method", "auto-round"}, {"extra_config", Json::Array{1}}});
          }),
      row("bnb-nf4", "four bits and eight", "bitsandbytes.width", saying("load_in_8bit", true)),
      row("ct-int4", "rotations", "compressed_tensors.transforms",
          saying("transform_config", Json::Object{{"config_groups", 1}})),
      row("ct-int4", "sparse weights", "compressed_tensors.sparsity",
          saying("sparsity_config", Json::Object{{"format", "sparse-24-bitmask"}})),
      row("ct-int4", "no groups", "compressed_tensors.groups", saying("config_groups", Json())),
      row("ct-int4", "a format of somebody else", "compressed_tensors.format", saying("format", "marlin-24")),
      scheme("nine bits", "compressed_tensors.bits", "num_bits", 9),
      scheme("numbers of another kind", "compressed_tensors.type", "type", "complex"),
      scheme("a strategy of somebody else", "compressed_tensors.strategy", "strategy", "token"),
      row("fp8", "e5m2 by the configuration", "fp8.fmt", saying("fmt", "e5m2")),
      row("fp8", "blocks without columns", "fp8.block_size", saying("weight_block_size", Json::Array{16, 0})),
      row("metal", "nine bits", "metal.bits", saying("bits", 9)),
  };
}

}  // namespace motley::ingest::testing
