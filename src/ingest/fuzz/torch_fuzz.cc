// A torch file beside a fixed configuration: the archive or the old sequence, its pickle, and on to a Model.
#include <cstddef>
#include <cstdint>

#include "ingest/fuzz/with_config.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  motley::ingest::fuzz::load_with_config("model.pt", {data, size});
  return 0;
}
