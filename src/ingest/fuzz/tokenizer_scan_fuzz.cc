// The skimmer over tokenizer.json.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "ingest/tokenizer_scan.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  (void)motley::ingest::scan_tokenizer({reinterpret_cast<const char*>(data), size}, "fuzz");
  return 0;
}
