// Any bytes as a tokenizer.json: an error or a tokenizer whose streamed text equals its decoded text.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "text/detokenizer.h"
#include "text/tokenizer.h"

using motley::text::Affixes;
using motley::text::Detokenizer;
using motley::text::SpecialInText;
using motley::text::SpecialTokens;
using motley::text::Tokenizer;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  motley::model::TextAssets assets;
  assets.tokenizer =
      motley::model::TokenizerJson{.json = std::string(reinterpret_cast<const char*>(data), size), .source = "fuzz"};
  const auto tokenizer = Tokenizer::load(assets);
  if (!tokenizer.ok()) return 0;
  const auto ids = tokenizer->encode("Hello é 日本 😀 <s> a", SpecialInText::kParse, Affixes::kCheckpoint);
  if (!ids.ok()) return 0;
  const auto whole = tokenizer->decode(*ids, SpecialTokens::kKeep);
  if (!whole.ok()) return 0;
  Detokenizer stream(*tokenizer, SpecialTokens::kKeep);
  std::string text;
  for (const int32_t id : *ids) text += stream.feed(id).value_or("");
  text += stream.finish().value_or("");
  if (text != *whole) std::abort();
  return 0;
}
