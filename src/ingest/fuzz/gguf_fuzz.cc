// The whole way of a GGUF file, from its first byte to a Model.
#include <cstddef>
#include <cstdint>

#include "ingest/load.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto* bytes = reinterpret_cast<const std::byte*>(data);
  const auto files = motley::ingest::memory_files("fuzz", {{"model.gguf", {bytes, bytes + size}}});
  (void)motley::ingest::load_from(*files, "model.gguf", {});
  return 0;
}
