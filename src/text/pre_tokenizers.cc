#include "text/pre_tokenizers.h"

#include <algorithm>
#include <iterator>

namespace motley::text {
namespace {

// Parts of a tokenizer.json. A pattern is written as JSON has it, so a backslash is doubled.
#define SPLIT(pattern) R"({"type":"Split","pattern":{"Regex":")" pattern R"("},"behavior":"Isolated","invert":false})"
#define BYTES R"({"type":"ByteLevel","add_prefix_space":false,"trim_offsets":true,"use_regex":false})"
#define GPT2_WORDS R"({"type":"ByteLevel","add_prefix_space":false,"trim_offsets":true,"use_regex":true})"
#define DIGITS R"({"type":"Digits","individual_digits":true})"
#define DIGIT_RUNS R"({"type":"Digits","individual_digits":false})"
#define PUNCTUATION_RUNS R"({"type":"Punctuation","behavior":"Contiguous"})"
#define SEQUENCE(parts) R"({"type":"Sequence","pretokenizers":[)" parts "]}"
#define NONE "null"
#define NFC R"({"type":"NFC"})"
#define MERGES_ALWAYS false
#define WHOLE_WORDS_FIRST true
#define PLAIN false
#define BOS true

constexpr PreTokenizer kTable[] = {
#define PRE_TOKENIZER(pre_name, pre_normalizer, pre_splits, merges, start) \
  {.name = pre_name, .normalizer = pre_normalizer, .splits = pre_splits, .ignore_merges = merges, .add_bos = start},
#include "text/pre_tokenizers.def"
#undef PRE_TOKENIZER
};

}  // namespace

std::span<const PreTokenizer> pre_tokenizers() { return kTable; }

const PreTokenizer* find_pre_tokenizer(std::string_view name) {
  const auto* row =
      std::find_if(std::begin(kTable), std::end(kTable), [&](const auto& known) { return known.name == name; });
  return row == std::end(kTable) ? nullptr : row;
}

}  // namespace motley::text
