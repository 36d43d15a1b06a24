// One matrix in any packing, inside a network that is good otherwise. An input is a quantization_config, a line break,
// and a safetensors file with the tensors of the matrix [32 out, 64 in]. What loads is decoded too.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "base/byte_source.h"
#include "ingest/load.h"
#include "quant/stored_matrix.h"

namespace {

using motley::model::Piece;

constexpr std::string_view kConfig =
    R"({"model_type":"llama","hidden_size":32,"intermediate_size":64,"num_hidden_layers":1,"num_attention_heads":2,
        "vocab_size":8,"max_position_embeddings":64,"rms_norm_eps":0.03,"tie_word_embeddings":true,"quantization_config":)";

std::vector<std::byte> bytes_of(std::string_view text) {
  const auto* data = reinterpret_cast<const std::byte*>(text.data());
  return {data, data + text.size()};
}

// All other weights, zeros.
std::string good_shard() {
  std::string header = "{";
  size_t end = 0;
  const auto add = [&](std::string_view name, std::string_view shape, size_t count) {
    header += fmt::format(R"({}"model.{}.weight":{{"dtype":"F16","shape":[{}],"data_offsets":[{},{}]}})",
                          header.size() == 1 ? "" : ",", name, shape, end, end + 2 * count);
    end += 2 * count;
  };
  add("embed_tokens", "8,32", 256);
  add("norm", "32", 32);
  for (const std::string_view norm : {"input_layernorm", "post_attention_layernorm"})
    add(fmt::format("layers.0.{}", norm), "32", 32);
  for (const std::string_view square : {"q", "k", "v", "o"})
    add(fmt::format("layers.0.self_attn.{}_proj", square), "32,32", 1024);
  for (const std::string_view wide : {"gate", "up"}) add(fmt::format("layers.0.mlp.{}_proj", wide), "64,32", 2048);
  header += "}";
  const uint64_t size = header.size();
  return std::string(reinterpret_cast<const char*>(&size), sizeof(size)) + header + std::string(end, '\0');
}

std::vector<std::byte> read(const std::optional<Piece>& piece) {
  if (!piece) return {};
  auto bytes = motley::read_range(*piece->source, piece->range, 1 << 20);
  return bytes.ok() ? *std::move(bytes) : std::vector<std::byte>();
}

void decode(const motley::model::Weight& weight) {
  const auto codes = read(weight.codes), scales = read(weight.scales), offsets = read(weight.offsets);
  const auto outer = read(weight.outer_scales), table = read(weight.scale_table);
  motley::quant::StoredMatrix matrix{weight.format, weight.rows, weight.cols, codes, scales, offsets, outer, table};
  if (weight.input_order != nullptr) matrix.input_order = *weight.input_order;
  std::vector<float> row(weight.cols);
  for (uint64_t n = 0; n < weight.rows; ++n) motley::quant::decode_row(matrix, n, 0, row);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const std::string shard = good_shard();
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const size_t split = std::min(input.find('\n'), size);
  const std::string config = std::string(kConfig) + std::string(input.substr(0, split)) + "}";
  std::string packed(input.substr(std::min(split + 1, size)));
  const auto files = motley::ingest::memory_files("fuzz", {{"config.json", bytes_of(config)},
                                                           {"model-00001-of-00002.safetensors", bytes_of(shard)},
                                                           {"model-00002-of-00002.safetensors", bytes_of(packed)}});
  const auto model = motley::ingest::load_from(*files, "model-00001-of-00002.safetensors", {});
  if (!model.ok()) return 0;
  const auto found =
      model->weights.find({.part = motley::model::Part::kDown, .slot = motley::model::Slot::kWeight, .layer = 0});
  if (found != model->weights.end()) decode(found->second);
  return 0;
}
