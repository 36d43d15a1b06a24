// Ids to text one at a time, for answers that are shown while they are made. Not for whole lists (Tokenizer::decode).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/status.h"
#include "text/tokenizer.h"

namespace motley::text {

// Everything that feed and finish return, in order, is exactly Tokenizer::decode of all ids: whatever the cut, with
// leading spaces dropped only at the true beginning, and never a part of a character. A run of byte tokens is held
// until it ends, because its text depends on all of it. A call costs what its own token costs. Owner: one answer.
// Threads: one at a time. Keeps the vocabulary alive by itself.
class Detokenizer {
 public:
  Detokenizer(const Tokenizer& tokenizer, SpecialTokens special);

  // Ids that stand before the answer (a prompt that the answer continues): they are read, their text is not returned.
  Status prime(std::span<const int32_t> ids);

  // The characters that this id completed, possibly none. Errors: InvalidArgument for a negative id.
  StatusOr<std::string> feed(int32_t id);

  // What was held back, U+FFFD for what is no character. The next feed begins a new text.
  StatusOr<std::string> finish();

 private:
  struct Free {
    void operator()(void* handle) const;
  };
  std::unique_ptr<void, Free> handle_;  // a MotleyDetokenizer
};

}  // namespace motley::text
