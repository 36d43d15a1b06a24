// What the copies of a Tokenizer share. For this module's .cc files only.
#pragma once

#include <string>
#include <vector>

#include "text/bridge_memory.h"
#include "text/tokenizer.h"

namespace motley::text {

struct Tokenizer::State {
  State() = default;
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() { motley_tokenizer_free(handle); }

  MotleyTokenizer* handle = nullptr;
  std::string source;  // for errors
  std::vector<int32_t> prefix;
  std::vector<int32_t> suffix;
};

}  // namespace motley::text
