// Checkpoints for tests, as text that can be bent before it is written: made here or taken from tests/data/models. The
// writers are independent of the readers under test.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "ingest/file_set.h"

namespace motley::ingest::testing {

using Files = std::map<std::string, std::string>;

// Reads tests/data/models/NAME/* (every file).
Files read_model(std::string_view name);
std::string read_file(const std::string& path);
std::unique_ptr<FileSet> file_set(const Files& files);

template <typename T>
std::string raw(T value) {
  return std::string(reinterpret_cast<const char*>(&value), sizeof(T));
}

// Replaces the only occurrence of `from`; aborts when there is not exactly one, so that a test cannot silently change
// nothing.
std::string replaced(std::string text, std::string_view from, std::string_view to);

// --- GGUF
// ----------------------------------------------------------------------------------------------------------------

struct GgufKey {
  std::string name;
  uint32_t type = 0;
  std::string value;  // as stored
};
struct GgufInfo {
  std::string name;
  std::vector<uint64_t> sizes;  // innermost first, as stored
  uint32_t type = 0;
  uint64_t offset = 0;
};

// One layer, hidden 32, two heads, one KV head, feed-forward 32, eight tokens; f32 but for Q4_0 in attn_q. Good as it
// comes.
struct GgufDraft {
  uint32_t magic = 0x46554747;
  uint32_t version = 3;
  uint64_t alignment = 32;
  std::vector<GgufKey> keys;
  std::vector<GgufInfo> tensors;
  std::string data;
  // Written instead of the true counts.
  std::optional<uint64_t> tensor_count, key_count;

  static GgufDraft good();
  GgufKey& key(std::string_view name);
  GgufInfo& tensor(std::string_view name);
  void remove_key(std::string_view name);
  void set_number(std::string_view name, uint32_t value);
  void set_string(std::string_view name, std::string_view value);
  // Appends a tensor of `bytes` zeros at the end of the data.
  void add_tensor(std::string name, std::vector<uint64_t> sizes, uint32_t type, uint64_t bytes);

  std::string header() const;  // everything before the data, padded
  std::string text() const { return header() + data; }
};
std::string gguf_string(std::string_view text);
std::string gguf_strings(const std::vector<std::string>& items);

// --- safetensors
// -----------------------------------------------------------------------------------------------------------

struct SafetensorsDraft {
  Json::Object header;
  std::string data;

  static SafetensorsDraft parse(const std::string& text);
  Json& entry(std::string_view name);
  void set(std::string_view name, std::string_view key, Json value) {
    entry(name).set(std::string(key), std::move(value));
  }
  void rename(std::string_view from, std::string_view to);
  // Appends a tensor of zeros.
  void add(std::string name, std::string_view dtype, const std::vector<uint64_t>& shape, uint64_t bytes);
  std::string text() const;
};

}  // namespace motley::ingest::testing
