// Any pieces, types, scores and merges as a vocabulary: an error, or a tokenizer that gives a text back.
#include <cstdint>
#include <string>
#include <string_view>

#include "text/tokenizer.h"
#include "text/vocabulary.h"

namespace {

using motley::model::Vocabulary;

// First byte: the kind; then lines "TSpiece" (T a type, S a score) and "=left right" (a merge).
Vocabulary vocabulary_of(std::string_view bytes) {
  Vocabulary vocabulary;
  vocabulary.source = "fuzz";
  if (bytes.empty()) return vocabulary;
  vocabulary.kind = bytes[0] == 's' ? Vocabulary::Kind::kSentencePiece : Vocabulary::Kind::kByteLevelBpe;
  vocabulary.pre_tokenizer = bytes[0] == 'l' ? "llama-bpe" : "smollm";
  bytes.remove_prefix(1);
  while (!bytes.empty()) {
    const std::string_view line = bytes.substr(0, bytes.find('\n'));
    bytes.remove_prefix(std::min(bytes.size(), line.size() + 1));
    if (line.starts_with('=')) {
      vocabulary.merges.emplace_back(line.substr(1));
    } else if (line.size() >= 2) {
      vocabulary.types.push_back(static_cast<Vocabulary::TokenType>(line[0] - '0'));
      if (vocabulary.kind == Vocabulary::Kind::kSentencePiece)
        vocabulary.scores.push_back(static_cast<float>(-line[1]));
      vocabulary.tokens.emplace_back(line.substr(2));
    }
  }
  return vocabulary;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  motley::model::TextAssets assets;
  assets.tokenizer = vocabulary_of({reinterpret_cast<const char*>(data), size});
  const auto tokenizer = motley::text::Tokenizer::load(assets);
  if (!tokenizer.ok()) return 0;
  const auto ids =
      tokenizer->encode("ab ab <s> é", motley::text::SpecialInText::kParse, motley::text::Affixes::kCheckpoint);
  if (ids.ok()) (void)tokenizer->decode(*ids, motley::text::SpecialTokens::kKeep);
  return 0;
}
