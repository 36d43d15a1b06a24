// A safetensors file beside a fixed configuration.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "ingest/load.h"

namespace {

constexpr std::string_view kConfig =
    R"({"model_type":"llama","hidden_size":32,"intermediate_size":64,"num_hidden_layers":2,"num_attention_heads":4,
        "num_key_value_heads":2,"vocab_size":96,"max_position_embeddings":512,"rms_norm_eps":0.03})";

std::vector<std::byte> bytes_of(std::string_view text) {
  const auto* data = reinterpret_cast<const std::byte*>(text.data());
  return {data, data + text.size()};
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto* bytes = reinterpret_cast<const std::byte*>(data);
  const auto files = motley::ingest::memory_files(
      "fuzz", {{"config.json", bytes_of(kConfig)}, {"model.safetensors", {bytes, bytes + size}}});
  (void)motley::ingest::load_from(*files, "model.safetensors", {});
  return 0;
}
