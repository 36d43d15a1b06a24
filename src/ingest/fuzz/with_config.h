// Loads one file of weights, as a fuzzer made it, beside a fixed configuration.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ingest/load.h"

namespace motley::ingest::fuzz {

inline constexpr std::string_view kConfig =
    R"({"model_type":"llama","hidden_size":32,"intermediate_size":64,"num_hidden_layers":2,"num_attention_heads":4,
        "num_key_value_heads":2,"vocab_size":96,"max_position_embeddings":512,"rms_norm_eps":0.03})";

inline void load_with_config(const std::string& name, std::span<const uint8_t> weights) {
  const auto config = std::as_bytes(std::span(kConfig));
  const auto bytes = std::as_bytes(weights);
  const auto files =
      memory_files("fuzz", {{"config.json", {config.begin(), config.end()}}, {name, {bytes.begin(), bytes.end()}}});
  (void)load_from(*files, name, {});
}

}  // namespace motley::ingest::fuzz
