#include "convert/safetensors_layout.h"

#include "base/json.h"

namespace motley::convert {
namespace {

constexpr uint64_t kAlignment = 8;  // of the first tensor, as the reference writer has it

struct Shard {
  std::vector<SafetensorsEntry> entries;
  uint64_t size_bytes = 0;
};

std::vector<Shard> cut(std::vector<SafetensorsEntry> entries, uint64_t shard_bytes) {
  std::vector<Shard> shards(1);
  for (SafetensorsEntry& entry : entries) {
    const bool full = !shards.back().entries.empty() && shards.back().size_bytes + entry.size_bytes > shard_bytes;
    if (full) shards.emplace_back();
    shards.back().size_bytes += entry.size_bytes;
    shards.back().entries.push_back(std::move(entry));
  }
  return shards;
}

std::string header_of(const Shard& shard, std::string_view writer) {
  Json json;
  json.set("__metadata__", Json::Object{{"format", writer}});
  uint64_t offset = 0;
  for (const SafetensorsEntry& entry : shard.entries) {
    json.set(entry.name, Json::Object{{"dtype", entry.dtype},
                                      {"shape", Json::Array(entry.shape.begin(), entry.shape.end())},
                                      {"data_offsets", Json::Array{offset, offset + entry.size_bytes}}});
    offset += entry.size_bytes;
  }
  std::string text = json.dump();
  text.append((kAlignment - text.size() % kAlignment) % kAlignment, ' ');
  std::string length;
  for (int byte = 0; byte < 8; ++byte) length += static_cast<char>(text.size() >> (8 * byte) & 255);
  return length + text;
}

PlannedFile shard_file(Shard& shard, std::string name, uint32_t file, std::string_view writer) {
  PlannedFile result{.name = std::move(name), .fixed = {{.offset = 0, .bytes = header_of(shard, writer)}}};
  uint64_t offset = result.fixed.front().bytes.size();
  for (SafetensorsEntry& entry : shard.entries) {
    if (entry.place != nullptr) *entry.place = {.file = file, .offset = offset};
    if (entry.place == nullptr) result.fixed.push_back({.offset = offset, .bytes = entry.bytes});
    offset += entry.size_bytes;
  }
  result.size_bytes = offset;
  return result;
}

}  // namespace

void add_safetensors(std::vector<SafetensorsEntry> entries, uint64_t shard_bytes, std::string_view writer, Index index,
                     Plan& plan) {
  std::vector<Shard> shards = cut(std::move(entries), shard_bytes);
  Json::Object map;
  uint64_t total = 0;
  for (size_t i = 0; i < shards.size(); ++i) {
    const std::string name = shards.size() == 1 ? "model.safetensors"
                                                : fmt::format("model-{:05}-of-{:05}.safetensors", i + 1, shards.size());
    for (const SafetensorsEntry& entry : shards[i].entries) map.emplace_back(entry.name, name);
    total += shards[i].size_bytes;
    plan.files.push_back(shard_file(shards[i], name, static_cast<uint32_t>(plan.files.size()), writer));
  }
  if (shards.size() == 1 && index == Index::kWhenSharded) return;
  const Json json = Json::Object{{"metadata", Json::Object{{"total_size", total}}}, {"weight_map", std::move(map)}};
  plan.files.push_back(text_file("model.safetensors.index.json", json.dump_pretty() + "\n"));
}

std::string_view safetensors_name(tensor::DType dtype) {
  if (dtype == tensor::DType::kF32) return "F32";
  return dtype == tensor::DType::kF16 ? "F16" : "BF16";
}

SafetensorsEntry float_entry(PlannedWeight& weight) {
  const tensor::DType dtype = weight.format.kind == tensor::StorageKind::kF32   ? tensor::DType::kF32
                              : weight.format.kind == tensor::StorageKind::kF16 ? tensor::DType::kF16
                                                                                : tensor::DType::kBF16;
  const uint64_t rows = weight.source->rows, cols = weight.source->cols;
  return {.name = weight.name,
          .dtype = safetensors_name(dtype),
          .shape = is_vector(weight) ? std::vector{cols} : std::vector{rows, cols},
          .size_bytes = rows * cols * tensor::size_bytes(dtype),
          .place = &weight.codes};
}

}  // namespace motley::convert
