#include "ingest/testing/broken.h"

namespace motley::ingest::testing {
namespace {

constexpr std::string_view kGood = "tiny/untied-hf";
constexpr std::string_view kFile = "model.safetensors";
constexpr std::string_view kEmbedding = "model.embed_tokens.weight";
constexpr std::string_view kLast = "model.norm.weight";  // lies last in the data

BrokenInput bytes(std::string what, std::string site, std::function<std::string(std::string)> bend) {
  return {std::move(what),
          std::move(site),
          [bend = std::move(bend)] {
            Files files = read_model(kGood);
            files[std::string(kFile)] = bend(files[std::string(kFile)]);
            return files;
          },
          "",
          {}};
}

BrokenInput bent(std::string what, std::string site, std::function<void(SafetensorsDraft&)> bend) {
  return bytes(std::move(what), std::move(site), [bend = std::move(bend)](const std::string& text) {
    SafetensorsDraft draft = SafetensorsDraft::parse(text);
    bend(draft);
    return draft.text();
  });
}

// A row that gives a tensor another field.
BrokenInput field(std::string what, std::string site, std::string_view tensor, std::string_view key, Json value) {
  return bent(std::move(what), std::move(site),
              [tensor, key, value = std::move(value)](SafetensorsDraft& draft) { draft.set(tensor, key, value); });
}

Json list(const std::vector<uint64_t>& items) { return Json(Json::Array(items.begin(), items.end())); }

std::vector<BrokenInput> headers() {
  return {
      bytes("cut in the length", "safetensors.cut_length", [](const std::string& text) { return text.substr(0, 5); }),
      bytes("cut in the header", "safetensors.cut_header", [](const std::string& text) { return text.substr(0, 100); }),
      bytes("a header of 2^63 bytes", "safetensors.header_length",
            [](const std::string& text) { return raw(uint64_t{1} << 63) + text.substr(8); }),
      bytes("a header that is a list", "safetensors.header",
            [](const std::string&) { return raw(uint64_t{4}) + "[{}]"; }),
      bytes("a header with a key twice", "json.duplicate_key",
            [](const std::string&) {
              const std::string entry = R"("a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]})";
              const std::string header = "{" + entry + "," + entry + "}";
              return raw(uint64_t{header.size()}) + header + "1234";
            }),
  };
}

std::vector<BrokenInput> fields() {
  return {
      field("no dtype", "safetensors.dtype_missing", kEmbedding, "dtype", Json()),
      field("a dtype that nobody knows", "safetensors.dtype", kEmbedding, "dtype", "F12"),
      field("no shape", "safetensors.shape", kEmbedding, "shape", Json()),
      field("half a dimension", "safetensors.dimension", kEmbedding, "shape", Json(Json::Array{96, 0.5})),
      field("a dimension of zero", "safetensors.zero_dimension", kEmbedding, "shape", list({96, 0})),
      field("dimensions whose product is 2^63", "safetensors.tensor_product", kEmbedding, "shape",
            list({uint64_t{1} << 32, uint64_t{1} << 31})),
      field("three offsets", "safetensors.offsets", kEmbedding, "data_offsets", list({0, 1, 2})),
      field("an end before its beginning", "safetensors.offset_order", kEmbedding, "data_offsets", list({6144, 0})),
      field("an end past the file", "safetensors.tensor_range", kLast, "data_offsets", list({49408, 49474})),
      field("a shape of other size than the bytes", "safetensors.tensor_size", kEmbedding, "shape", list({96, 31})),
      field("two tensors in one place", "safetensors.tensor_overlap", kEmbedding, "data_offsets", list({0, 6144})),
      bent("a hole between two tensors", "safetensors.tensor_gap",
           [](SafetensorsDraft& draft) {
             draft.data.append(2, '\0');
             draft.add("model.rotary_emb.inv_freq", "F32", {4}, 16);
           }),
      bytes("bytes behind the last tensor", "safetensors.trailing_bytes",
            [](const std::string& text) { return text + "x"; }),
      bent("one tensor under two names", "load.same_name",
           [](SafetensorsDraft& draft) { draft.add("language_model.model.norm.weight", "F16", {32}, 64); }),
      bent("tensors as EXL2 has them", "foreign.tensor",
           [](SafetensorsDraft& draft) {
             draft.add("model.layers.0.self_attn.q_proj.q_weight", "I32", {4, 32}, 512);
           }),
  };
}

}  // namespace

std::vector<BrokenInput> broken_safetensors() {
  std::vector<BrokenInput> all = headers();
  for (BrokenInput& row : fields()) all.push_back(std::move(row));
  return all;
}

std::vector<BrokenInput> broken_shards() {
  const auto shards = [](std::string what, std::string site, std::string focus, std::function<void(Files&)> bend) {
    return BrokenInput{std::move(what),
                       std::move(site),
                       [bend = std::move(bend)] {
                         Files files = read_model("tiny/sharded-hf");
                         bend(files);
                         return files;
                       },
                       std::move(focus),
                       {}};
  };
  const auto index = [](Files& files) -> std::string& { return files["model.safetensors.index.json"]; };
  return {
      shards("a shard is missing", "shards.missing", "",
             [](Files& files) { files.erase("model-00002-of-00003.safetensors"); }),
      shards("a shard was named and another is missing", "shards.sibling_missing", "model-00001-of-00003.safetensors",
             [](Files& files) { files.erase("model-00002-of-00003.safetensors"); }),
      shards("an index without a map", "shards.weight_map", "", [=](Files& files) { index(files) = "{}"; }),
      shards("an index that leads elsewhere", "shards.index_name", "",
             [=](Files& files) { index(files) = R"({"weight_map":{"a":"../../etc/passwd"}})"; }),
      shards("an index that is a list", "files.object", "", [=](Files& files) { index(files) = "[]"; }),
      shards("no configuration", "hf_text.config_missing", "", [](Files& files) { files.erase("config.json"); }),
      shards("another checkpoint in the folder", "container.ambiguous", "",
             [](Files& files) { files["model.gguf"] = GgufDraft::good().text(); }),
      {"a folder without a checkpoint",
       "container.none",
       [] {
         return Files{{"README.md", "hello"}};
       },
       "",
       {}},
      {"a file of no known kind",
       "container.unknown",
       [] {
         return Files{{"model.bin", "GPT-OSS v1.0 and more"}};
       },
       "model.bin",
       {}},
  };
}

namespace {

constexpr std::string_view kAffine = "mlx-affine-4bit-g64", kMxfp4 = "mlx-mxfp4";

BrokenInput row(std::string_view model, std::string what, std::string site,
                std::function<void(SafetensorsDraft&)> bend) {
  return {std::move(what),
          std::move(site),
          [model, bend = std::move(bend)] {
            Files files = read_model(model);
            SafetensorsDraft draft = SafetensorsDraft::parse(files["model.safetensors"]);
            bend(draft);
            files["model.safetensors"] = draft.text();
            return files;
          },
          "",
          {}};
}

BrokenInput config(std::string_view model, std::string what, std::string site, std::function<void(Json&)> bend) {
  return {std::move(what),
          std::move(site),
          [model, bend = std::move(bend)] {
            Files files = read_model(model);
            Json tree = *parse_json(files["config.json"], "test");
            Json quantization = *tree.find("quantization");
            bend(quantization);
            tree.set("quantization", quantization);
            files["config.json"] = tree.dump();
            return files;
          },
          "",
          {}};
}

// Puts a tensor of another shape in the place of `name`; the old one becomes something that may be ignored.
void instead(SafetensorsDraft& draft, const std::string& name, std::string_view dtype,
             const std::vector<uint64_t>& shape, uint64_t size_bytes) {
  draft.rename(name, "vision_tower.was." + name);
  draft.add(name, dtype, shape, size_bytes);
}

}  // namespace

std::vector<BrokenInput> broken_mlx_float() {
  const std::string q = "model.layers.1.self_attn.q_proj";
  return {
      row(kMxfp4, "scales of the shape of another mode", "mlx_float.shapes",
          [=](auto& draft) {
            instead(draft, q + ".scales", "U8", {256, 4}, 256 * 4);
          }),
      row(kMxfp4, "biases beside scales of one byte", "mlx_float.biases",
          [=](auto& draft) {
            draft.add(q + ".biases", "F16", {256, 8}, 256 * 8 * 2);
          }),
      config(kMxfp4, "a mode that disagrees with the shapes", "mlx_float.mode_claimed",
             [](Json& json) { json.set("mode", "nvfp4"); }),
  };
}

std::vector<BrokenInput> broken_mlx() {
  const std::string q = "model.layers.1.self_attn.q_proj";  // its scales lie last in the data
  return {
      row(kAffine, "codes that are not u32", "mlx.weight_dtype",
          [=](auto& draft) { draft.set(q + ".weight", "dtype", "I32"); }),
      row(kAffine, "no scales", "mlx.scales_missing",
          [=](auto& draft) { draft.rename(q + ".scales", "vision_tower.s"); }),
      row(kAffine, "no biases", "mlx.biases_missing",
          [=](auto& draft) { draft.rename(q + ".biases", "vision_tower.b"); }),
      row(kAffine, "scales that are integers", "mlx.scales_dtype",
          [=](auto& draft) { draft.set(q + ".scales", "dtype", "U16"); }),
      row(kAffine, "biases of another type than the scales", "mlx.biases_dtype",
          [=](auto& draft) { draft.set(q + ".biases", "dtype", "BF16"); }),
      row(kAffine, "codes of too few rows", "mlx.rows",
          [=](auto& draft) {
            instead(draft, q + ".weight", "U32", {255, 32}, 255 * 32 * 4);
          }),
      row(kAffine, "codes of four and a half bits", "mlx.bits",
          [=](auto& draft) {
            instead(draft, q + ".weight", "U32", {256, 36}, 256 * 36 * 4);
          }),
      row(kAffine, "scales of the wrong shape", "mlx.scales_shape",
          [=](auto& draft) {
            instead(draft, q + ".scales", "F16", {256, 3}, 256 * 3 * 2);
          }),
      row(kAffine, "biases of another shape than the scales", "mlx.biases_shape",
          [=](auto& draft) {
            instead(draft, q + ".biases", "F16", {256, 2}, 256 * 2 * 2);
          }),
      config(kAffine, "bits that disagree with the shapes", "packing.bits_claimed",
             [](Json& json) { json.set("bits", 8); }),
      config(kAffine, "a group size that disagrees with the shapes", "packing.group_claimed",
             [](Json& json) { json.set("group_size", 32); }),
      config(kAffine, "mode mxfp4", "mlx.mode", [](Json& json) { json.set("mode", "mxfp4"); }),
      config(kAffine, "a mode that is a number", "mlx.config_mode", [](Json& json) { json.set("mode", 4); }),
      config(kAffine, "bits of -4", "mlx.config_number", [](Json& json) { json.set("bits", -4); }),
      config(kAffine, "packed, but said to be plain", "packing.claimed_plain",
             [](Json& json) { json.set("model.layers.1.mlp.up_proj", false); }),
      {"plain, but said to be packed",
       "packing.claimed_packed",
       [] {
         Files files = read_model(kGood);
         files["config.json"] =
             replaced(files["config.json"], R"("architectures")",
                      R"("quantization": {"bits": 4, "model.layers.0.mlp.up_proj": true}, "architectures")");
         return files;
       },
       "",
       {}},
  };
}

}  // namespace motley::ingest::testing
