// The few facts of a tokenizer.json that loading needs (which ids there are, and the added tokens), without building a
// tree of its hundreds of thousands of entries. Not a parser: text reads the file properly, and judges it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"

namespace motley::ingest {

struct TokenizerFacts {
  std::optional<int64_t> highest_id;                         // of the model's vocabulary
  std::map<std::string, int64_t, std::less<>> added_tokens;  // content to id
};

// Rejects ("tokenizer.syntax") text that is not even bracketed like JSON, and added tokens without an id
// ("tokenizer.added").
StatusOr<TokenizerFacts> scan_tokenizer(std::string_view json, std::string_view where);

}  // namespace motley::ingest
