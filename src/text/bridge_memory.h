// Ownership of what the bridge hands out. For this module's .cc files only.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "text/bridge/bridge.h"

namespace motley::text {

inline MotleySlice borrow(std::string_view text) {
  return {.data = reinterpret_cast<const uint8_t*>(text.data()), .size = text.size()};
}

inline std::string take(MotleyBytes bytes) {
  std::string text(reinterpret_cast<const char*>(bytes.data), bytes.size);
  motley_bytes_free(bytes);
  return text;
}

// Ids are below 2^31: Tokenizer::load saw the highest one.
inline std::vector<int32_t> take(MotleyIds ids) {
  std::vector<int32_t> copy(ids.data, ids.data + ids.size);
  motley_ids_free(ids);
  return copy;
}

}  // namespace motley::text
