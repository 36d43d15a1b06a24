// Any ids through the streaming decoders of both kinds of vocabulary: whole characters, and in the end what decode
// gives.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "text/detokenizer.h"
#include "text/utf8.h"

namespace {

using motley::model::Vocabulary;
using motley::text::Detokenizer;
using motley::text::SpecialTokens;
using motley::text::Tokenizer;
using Type = Vocabulary::TokenType;

void add(Vocabulary* vocabulary, const char* token, Type type) {
  vocabulary->tokens.emplace_back(token);
  vocabulary->types.push_back(type);
}

Tokenizer loaded(Vocabulary vocabulary) {
  motley::model::TextAssets assets;
  assets.tokenizer = std::move(vocabulary);
  return *Tokenizer::load(assets);
}

Tokenizer sentence_piece() {
  Vocabulary vocabulary;
  vocabulary.kind = Vocabulary::Kind::kSentencePiece;
  for (const char* token : {"▁", "a", "▁a", "é", "日本", "▁▁"}) add(&vocabulary, token, Type::kNormal);
  add(&vocabulary, "<s>", Type::kControl);
  for (int byte = 0; byte < 256; ++byte) add(&vocabulary, fmt::format("<0x{:02X}>", byte).c_str(), Type::kByte);
  vocabulary.scores.assign(vocabulary.tokens.size(), 0);
  return loaded(std::move(vocabulary));
}

Tokenizer byte_level() {
  Vocabulary vocabulary;
  vocabulary.pre_tokenizer = "gpt-2";
  for (const char* token : {"a", "Ġ", "Ġa", "ã", "Ã", "©", "æĹ", "¥", "ð", "Ł", "ĺ", "Ģ", "ÿ"})
    add(&vocabulary, token, Type::kNormal);
  add(&vocabulary, "<|end|>", Type::kControl);
  add(&vocabulary, "with space", Type::kUserDefined);
  return loaded(std::move(vocabulary));
}

void check(const Tokenizer& tokenizer, const std::vector<int32_t>& ids, SpecialTokens special) {
  Detokenizer stream(tokenizer, special);
  std::string text;
  for (const int32_t id : ids) {
    const std::string piece = stream.feed(id).value();
    if (motley::text::first_invalid_utf8(piece)) std::abort();
    text += piece;
  }
  text += stream.finish().value();
  if (text != tokenizer.decode(ids, special).value()) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const Tokenizer sentence_piece_tokenizer = sentence_piece();
  static const Tokenizer byte_level_tokenizer = byte_level();
  std::vector<int32_t> ids;
  std::vector<int32_t> small_ids;
  for (size_t i = 0; i < size; ++i) {
    ids.push_back(data[i]);
    small_ids.push_back(data[i] % 16);
  }
  for (const SpecialTokens special : {SpecialTokens::kKeep, SpecialTokens::kSkip}) {
    check(sentence_piece_tokenizer, ids, special);
    check(byte_level_tokenizer, small_ids, special);
  }
  return 0;
}
