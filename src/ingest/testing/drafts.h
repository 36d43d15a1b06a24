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

// --- zip and torch
// ---------------------------------------------------------------------------------------------------------

struct ZipDraftEntry {
  std::string name;
  std::string data;
  uint16_t flags = 0, method = 0;
  std::optional<uint32_t> packed_bytes, size_bytes, local_offset;  // in the directory, instead of the true ones
  std::string extra;                                               // likewise
  std::string local_name;                                          // before the data; empty for the same name
  uint32_t local_magic = 0x04034b50, magic = 0x02014b50;
};

struct ZipDraft {
  std::vector<ZipDraftEntry> entries;
  std::optional<uint16_t> count;
  std::optional<uint32_t> directory_bytes, directory_offset;
  uint16_t disk = 0;
  std::string before_end;  // between the directory and its end record, where zip64 records lie

  ZipDraftEntry& entry(std::string_view name);
  std::string text() const;
};

// Pickle opcodes, one function for each kind of value. Protocol 2, as torch writes it.
std::string pickle_text(std::string_view text);
std::string pickle_int(int32_t value);
std::string pickle_ints(const std::vector<int32_t>& values);  // a tuple
std::string pickle_global(std::string_view module, std::string_view name);
std::string pickle_call(const std::string& function, const std::string& arguments);      // opcodes of both
std::string pickle_dict(const std::vector<std::pair<std::string, std::string>>& items);  // text and opcodes
std::string pickle_of(const std::string& opcodes);                                       // with PROTO and STOP

ZipDraftEntry stored(std::string name, std::string data);

struct TorchDraftTensor {
  std::string name;
  std::string type = "FloatStorage";
  std::string key;
  int32_t elements = 0;  // of its storage
  int32_t offset = 0;
  std::vector<int32_t> shape, strides;
  std::string storage_view;  // opcodes of a sixth item of the storage's id
  std::string opcodes() const;
};

// A state dict: tensors of zeros in storages of their own, as current or old versions of torch lay them out.
struct TorchDraft {
  std::vector<TorchDraftTensor> tensors;
  std::vector<std::pair<std::string, std::string>> others;  // further items: text and opcodes

  // The tensors of `model`'s model.safetensors, with zeros for numbers.
  static TorchDraft of(std::string_view model);
  // One tensor "a" of 2 x 3 floats.
  static TorchDraft small();
  TorchDraftTensor& add(std::string name, std::vector<int32_t> shape);
  std::string pickle() const;
  ZipDraft zip() const;
  std::string text() const { return zip().text(); }
  std::string legacy_text() const;
};

// Ranks of a network of one layer, hidden 32, two heads, feed-forward 48, eight tokens.
struct MetaDraft {
  std::vector<TorchDraft> ranks;
  Json params;

  static MetaDraft good(int32_t ranks);
  Files files() const;
};

// --- llama2.c
// --------------------------------------------------------------------------------------------------------------

// One layer, hidden 32, two heads, one KV head, feed-forward 48, eight tokens, as llama2.c's export.py lays versions 1
// and 2 out.
std::string llama2c_text(uint32_t version, int32_t group_size);

// --- NumPy
// -----------------------------------------------------------------------------------------------------------------

std::string npy(std::string_view descr, std::string_view order, std::string_view shape, const std::string& data);

}  // namespace motley::ingest::testing
