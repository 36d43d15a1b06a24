// The element type a container gives a tensor: an ordinary dtype, or one of ggml's block types by its number.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "tensor/dtype.h"

namespace motley::ingest {

struct GgmlType {
  uint32_t id = 0;
  bool operator==(const GgmlType&) const = default;
};
using StoredType = std::variant<tensor::DType, GgmlType>;

// Geometry of a ggml type: `block_bytes` hold `block_elements` consecutive elements of a row.
struct GgmlTypeRow {
  uint32_t id;
  std::string_view name;
  uint32_t block_elements;
  uint32_t block_bytes;
};

// nullptr for a number that ggml has never used or has withdrawn.
const GgmlTypeRow* find_ggml_type(uint32_t id);

// The dtype that a ggml number stands for when its elements are plain numbers.
std::optional<tensor::DType> plain_ggml_dtype(uint32_t id);

// "bf16", "Q4_K".
std::string describe(const StoredType& type);

}  // namespace motley::ingest
