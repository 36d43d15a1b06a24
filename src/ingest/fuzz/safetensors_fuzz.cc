// A safetensors file beside a fixed configuration.
#include <cstddef>
#include <cstdint>

#include "ingest/fuzz/with_config.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  motley::ingest::fuzz::load_with_config("model.safetensors", {data, size});
  return 0;
}
