// The plug of a target: one row a line of targets/targets.def, one file in targets/. A target says what it would hold;
// it neither reads nor writes weights.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "convert/plan.h"

namespace motley::convert {

// What a person asked for. Each target takes the keys it knows; others are refused by convert().
struct Options {
  std::optional<std::string> dtype = {};     // hf: f32, f16 or bf16; mlx and gptq: of what is not packed
  std::optional<std::string> type;           // gguf: F16, Q8_0, …
  std::optional<std::string> fallback;       // for a weight that the asked format cannot hold
  std::optional<uint32_t> bits;              // mlx
  std::optional<uint32_t> group_size;        // mlx, gptq
  std::optional<uint32_t> version;           // llama2c
  std::optional<uint64_t> shard_size_bytes;  // hf, mlx, gptq
  std::vector<std::pair<std::string, std::string>> modules = {};  // mlx: pattern and "BITS:GROUP", "f16", …
  bool force = false;                                             // llama2c
};

struct Target {
  std::string_view name;
  std::string_view summary;
  std::span<const std::string_view> options;  // that it takes, by their names without dashes
  StatusOr<Plan> (*plan)(const model::Model& model, const Options& options);
};

std::span<const Target> targets();
StatusOr<const Target*> find_target(std::string_view name);

}  // namespace motley::convert
