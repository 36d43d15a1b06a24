#include "ingest/testing/drafts.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>

namespace motley::ingest::testing {
namespace {

[[noreturn]] void give_up(std::string_view what) {
  std::cerr << "a test's draft is wrong: " << what << std::endl;
  std::abort();
}

constexpr uint32_t kU32 = 4, kI32 = 5, kF32 = 6, kString = 8, kArray = 9;

std::string gguf_array(uint32_t type, uint64_t count, const std::string& items) {
  return raw(type) + raw(count) + items;
}

void add_keys(GgufDraft& draft) {
  const auto number = [&](std::string_view name, uint32_t value) { draft.set_number(name, value); };
  draft.set_string("general.architecture", "llama");
  number("general.alignment", 32);
  number("llama.block_count", 1);
  number("llama.context_length", 64);
  number("llama.embedding_length", 32);
  number("llama.feed_forward_length", 32);
  number("llama.attention.head_count", 2);
  number("llama.attention.head_count_kv", 1);
  number("llama.rope.dimension_count", 16);
  draft.keys.push_back({"llama.attention.layer_norm_rms_epsilon", kF32, raw(1e-5f)});
  draft.keys.push_back({"llama.rope.freq_base", kF32, raw(10000.0f)});
  draft.set_string("tokenizer.ggml.model", "gpt2");
  draft.set_string("tokenizer.ggml.pre", "gpt-2");
  draft.keys.push_back(
      {"tokenizer.ggml.tokens", kArray, gguf_strings({"<s>", "</s>", "a", "b", "c", "d", "ab", "cd"})});
  std::string types;
  for (const int32_t type : {3, 3, 1, 1, 1, 1, 1, 1}) types += raw(type);
  draft.keys.push_back({"tokenizer.ggml.token_type", kArray, gguf_array(kI32, 8, types)});
  draft.keys.push_back({"tokenizer.ggml.merges", kArray, gguf_strings({"a b", "c d"})});
  number("tokenizer.ggml.bos_token_id", 0);
  number("tokenizer.ggml.eos_token_id", 1);
}

}  // namespace

std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) give_up("no file " + path);
  return {std::istreambuf_iterator<char>(in), {}};
}

Files read_model(std::string_view name) {
  Files files;
  const std::string folder = "tests/data/models/" + std::string(name);
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.is_regular_file()) files[entry.path().filename().string()] = read_file(entry.path().string());
  return files;
}

std::unique_ptr<FileSet> file_set(const Files& files) {
  std::map<std::string, std::vector<std::byte>, std::less<>> parts;
  for (const auto& [name, text] : files) {
    const auto* data = reinterpret_cast<const std::byte*>(text.data());
    parts[name] = {data, data + text.size()};
  }
  return memory_files("memory", std::move(parts));
}

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  const size_t at = text.find(from);
  if (at == std::string::npos || text.find(from, at + 1) != std::string::npos)
    give_up("not exactly one " + std::string(from));
  return text.replace(at, from.size(), to);
}

std::string gguf_string(std::string_view text) { return raw(uint64_t{text.size()}) + std::string(text); }

std::string gguf_strings(const std::vector<std::string>& items) {
  std::string body;
  for (const std::string& item : items) body += gguf_string(item);
  return gguf_array(kString, items.size(), body);
}

GgufDraft GgufDraft::good() {
  GgufDraft draft;
  add_keys(draft);
  const auto f32 = [&](std::string name, std::vector<uint64_t> sizes) {
    uint64_t bytes = 4;
    for (const uint64_t size : sizes) bytes *= size;
    draft.add_tensor(std::move(name), std::move(sizes), 0, bytes);
  };
  f32("token_embd.weight", {32, 8});
  f32("blk.0.attn_norm.weight", {32});
  draft.add_tensor("blk.0.attn_q.weight", {32, 32}, 2, 32 * 18);
  f32("blk.0.attn_k.weight", {32, 16});
  f32("blk.0.attn_v.weight", {32, 16});
  f32("blk.0.attn_output.weight", {32, 32});
  f32("blk.0.ffn_norm.weight", {32});
  f32("blk.0.ffn_gate.weight", {32, 32});
  f32("blk.0.ffn_up.weight", {32, 32});
  f32("blk.0.ffn_down.weight", {32, 32});
  f32("output_norm.weight", {32});
  return draft;
}

GgufKey& GgufDraft::key(std::string_view name) {
  const auto found = std::find_if(keys.begin(), keys.end(), [&](const GgufKey& key) { return key.name == name; });
  if (found == keys.end()) give_up("no key " + std::string(name));
  return *found;
}

GgufInfo& GgufDraft::tensor(std::string_view name) {
  const auto found =
      std::find_if(tensors.begin(), tensors.end(), [&](const GgufInfo& info) { return info.name == name; });
  if (found == tensors.end()) give_up("no tensor " + std::string(name));
  return *found;
}

void GgufDraft::remove_key(std::string_view name) {
  key(name);
  std::erase_if(keys, [&](const GgufKey& key) { return key.name == name; });
}

void GgufDraft::set_number(std::string_view name, uint32_t value) {
  std::erase_if(keys, [&](const GgufKey& key) { return key.name == name; });
  keys.push_back({std::string(name), kU32, raw(value)});
}

void GgufDraft::set_string(std::string_view name, std::string_view value) {
  std::erase_if(keys, [&](const GgufKey& key) { return key.name == name; });
  keys.push_back({std::string(name), kString, gguf_string(value)});
}

void GgufDraft::add_tensor(std::string name, std::vector<uint64_t> sizes, uint32_t type, uint64_t bytes) {
  tensors.push_back({std::move(name), std::move(sizes), type, data.size()});
  data.append((bytes + alignment - 1) / alignment * alignment, '\0');
}

std::string GgufDraft::header() const {
  std::string out = raw(magic) + raw(version);
  out += raw(tensor_count.value_or(tensors.size())) + raw(key_count.value_or(keys.size()));
  for (const GgufKey& key : keys) out += gguf_string(key.name) + raw(key.type) + key.value;
  for (const GgufInfo& info : tensors) {
    out += gguf_string(info.name) + raw(static_cast<uint32_t>(info.sizes.size()));
    for (const uint64_t size : info.sizes) out += raw(size);
    out += raw(info.type) + raw(info.offset);
  }
  out.append((alignment - out.size() % alignment) % alignment, '\0');
  return out;
}

SafetensorsDraft SafetensorsDraft::parse(const std::string& text) {
  uint64_t size = 0;
  text.copy(reinterpret_cast<char*>(&size), sizeof(size));
  const auto header = parse_json(std::string_view(text).substr(8, size), "a test's file");
  if (!header.ok()) give_up("no header");
  return {*header->as_object(), text.substr(8 + size)};
}

Json& SafetensorsDraft::entry(std::string_view name) {
  const auto found =
      std::find_if(header.begin(), header.end(), [&](const auto& member) { return member.first == name; });
  if (found == header.end()) give_up("no tensor " + std::string(name));
  return found->second;
}

void SafetensorsDraft::rename(std::string_view from, std::string_view to) {
  entry(from);
  for (auto& member : header)
    if (member.first == from) member.first = to;
}

void SafetensorsDraft::add(std::string name, std::string_view dtype, const std::vector<uint64_t>& shape,
                           uint64_t bytes) {
  Json json;
  json.set("dtype", dtype);
  json.set("shape", Json(Json::Array(shape.begin(), shape.end())));
  json.set("data_offsets", Json::Array{uint64_t{data.size()}, uint64_t{data.size() + bytes}});
  header.emplace_back(std::move(name), std::move(json));
  data.append(bytes, '\0');
}

std::string SafetensorsDraft::text() const {
  const std::string json = Json(header).dump();
  return raw(uint64_t{json.size()}) + json + data;
}

}  // namespace motley::ingest::testing
