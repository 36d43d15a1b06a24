// Any config.json over a family's tensors, which are all called for but empty: everything up to the first missing
// weight.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "ingest/load.h"

namespace {

constexpr std::string_view kOneTensor(
    "\x4e\0\0\0\0\0\0\0"
    R"({"model.embed_tokens.weight":{"dtype":"F16","shape":[1],"data_offsets":[0,2]}})"
    "\0\0",
    8 + 78 + 2);

std::vector<std::byte> bytes_of(std::string_view text) {
  const auto* data = reinterpret_cast<const std::byte*>(text.data());
  return {data, data + text.size()};
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto* bytes = reinterpret_cast<const std::byte*>(data);
  const auto files = motley::ingest::memory_files(
      "fuzz", {{"config.json", {bytes, bytes + size}}, {"model.safetensors", bytes_of(kOneTensor)}});
  (void)motley::ingest::load_from(*files, "model.safetensors", {});
  return 0;
}
