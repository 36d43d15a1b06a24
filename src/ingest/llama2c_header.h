// The head of a llama2.c checkpoint, and which arrays follow it in which order. Version 0 has no magic and is told by
// its exact size; versions 1 (f32) and 2 (int8 with scales) have one. From llama2.c's export.py.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/byte_source.h"
#include "base/status.h"

namespace motley::ingest {

struct Llama2cHeader {
  uint32_t version = 0;
  int32_t dim = 0, hidden_dim = 0, n_layers = 0, n_heads = 0, n_kv_heads = 0, vocab_size = 0, seq_len = 0;
  bool shared_classifier = false;
  int32_t group_size = 0;  // of version 2: weights that share a scale, counted through the whole array

  uint64_t head_dim() const { return static_cast<uint64_t>(dim / n_heads); }
  uint64_t kv_dim() const { return head_dim() * static_cast<uint64_t>(n_kv_heads); }
  uint64_t header_bytes() const;
};

// Whether the file begins with the magic of versions 1 and 2.
bool has_llama2c_magic(const ByteSource& source);

// nullopt when the file cannot be a llama2.c checkpoint of version 0. A header with the magic is read or rejected
// ("llama2c.*").
StatusOr<std::optional<Llama2cHeader>> read_llama2c_header(const ByteSource& source);

// Arrays in the order of the file. Those of all layers lie together, one for each layer; {} in a name is the layer.
struct Llama2cArray {
  std::string_view name;
  bool per_layer;
  bool quantised;  // int8, followed by its scales
  std::vector<uint64_t> shape;
};
std::vector<Llama2cArray> llama2c_arrays(const Llama2cHeader& header);

// Bytes of the values of one array, without its scales.
uint64_t value_bytes(const Llama2cArray& array);
// Scales of one array, one f32 a group; 0 for an array that is not quantised.
uint64_t scale_count(const Llama2cHeader& header, const Llama2cArray& array);

// Exact size of the file that a header promises.
uint64_t promised_bytes(const Llama2cHeader& header);

}  // namespace motley::ingest
