// The smallest checkpoint of each packing, to bend: tiny/untied-hf with one matrix, [32 out, 64 in], packed by hand
// after the published description of the format. All its codes are zero.
#pragma once

#include <span>

#include "ingest/testing/drafts.h"

namespace motley::ingest::testing {

struct PackedDraft {
  struct Stored {
    std::string dtype;
    std::vector<uint64_t> shape;
    std::string bytes;
  };
  std::map<std::string, Stored> tensors;  // by what follows the matrix's name
  Json config = {};                       // quantization_config; null: none

  static constexpr std::string_view kMatrix = "model.layers.1.mlp.down_proj";

  // Aborts for a layout that packed_layouts() does not have.
  static PackedDraft of(std::string_view layout);

  // Adds or replaces a tensor: "scales F16 2 32" is two rows of 32 zeros, "nbits I32 =4" one 4.
  void put(const std::string& tensor);
  Files files() const;
};

struct PackedLayout {
  std::string_view name;
  std::string_view format;   // what tensor::describe() must say of it
  std::string config;        // JSON, or nothing
  std::string_view tensors;  // as put() takes them, with ';' between
};
std::span<const PackedLayout> packed_layouts();

}  // namespace motley::ingest::testing
