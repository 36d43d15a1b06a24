// How texts are split before byte-level BPE, by the name that GGUF's tokenizer.ggml.pre gives. The table is
// pre_tokenizers.def.
#pragma once

#include <span>
#include <string_view>

namespace motley::text {

struct PreTokenizer {
  std::string_view name;
  std::string_view normalizer;  // JSON of a tokenizer.json's "normalizer"
  std::string_view splits;      // JSON of its "pre_tokenizer"
  bool ignore_merges = false;   // a word that is a token stays one, whatever the merges say
  bool add_bos = false;         // texts begin with BOS when the file does not say
};

// nullptr when the name is unknown.
const PreTokenizer* find_pre_tokenizer(std::string_view name);

// All of them, in the order of the table.
std::span<const PreTokenizer> pre_tokenizers();

}  // namespace motley::text
