// A llama2.c checkpoint and its vocabulary: one input, cut in two where its first four bytes say.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "ingest/load.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  uint32_t model_size = 0;
  if (size < sizeof(model_size)) return 0;
  std::memcpy(&model_size, data, sizeof(model_size));
  const auto* bytes = reinterpret_cast<const std::byte*>(data) + sizeof(model_size);
  const size_t rest = size - sizeof(model_size);
  const auto* middle = bytes + std::min<size_t>(model_size, rest);
  const auto files =
      motley::ingest::memory_files("fuzz", {{"model.bin", {bytes, middle}}, {"tokenizer.bin", {middle, bytes + rest}}});
  (void)motley::ingest::load_from(*files, "model.bin", {});
  return 0;
}
