// Where tensors lie in safetensors files, and the headers and the index that say so.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "convert/plan.h"

namespace motley::convert {

struct SafetensorsEntry {
  std::string name;
  std::string_view dtype;  // "F16", "U32", …
  std::vector<uint64_t> shape;
  uint64_t size_bytes = 0;
  Place* place = nullptr;  // filled in; null for a tensor whose bytes stand here
  std::string bytes = {};
};

enum class Index : uint8_t { kWhenSharded, kAlways };

// Files of at most `shard_bytes` of tensors (one tensor at least), in the order given; appends them and the index to
// plan.files. `writer`: the value of `format` in the metadata, which tells readers whose tensors they are.
void add_safetensors(std::vector<SafetensorsEntry> entries, uint64_t shard_bytes, std::string_view writer, Index index,
                     Plan& plan);

// "F32", "F16" or "BF16".
std::string_view safetensors_name(tensor::DType dtype);

// The one tensor of a weight in a float format.
SafetensorsEntry float_entry(PlannedWeight& weight);

inline constexpr uint64_t kDefaultShardBytes = 5'000'000'000;  // as transformers and mlx-lm cut

}  // namespace motley::convert
