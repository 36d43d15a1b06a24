// The text that two checkpoints are compared on, as windows of ids that both understand alike.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "model/model.h"
#include "text/tokenizer.h"

namespace motley::app {

struct TextChoice {
  std::optional<std::string> file;        // nullopt: the built-in text
  std::vector<int32_t> ids;               // instead of a text, when there are any
  std::optional<uint32_t> tokens;         // how many from the beginning; nullopt: 512 of a text, all of ids
  std::optional<uint32_t> window_tokens;  // nullopt: 512, or what the contexts hold
};

struct ComparedText {
  std::string name;
  uint64_t tokens = 0;  // of the text, without what the checkpoint puts before it
  // Each is computed by itself and begins with what the checkpoint puts before a text (BOS).
  std::vector<std::vector<int32_t>> windows;
  std::optional<text::Tokenizer> tokenizer;  // A's, or B's when A has none
};

// Errors: vocabularies of two sizes, tokenizers that give different ids, no tokenizer and no ids, ids outside the
// vocabulary, a window that a context does not hold, an empty text.
StatusOr<ComparedText> read_compared_text(const TextChoice& choice, const model::Model& a, const model::Model& b);

}  // namespace motley::app
