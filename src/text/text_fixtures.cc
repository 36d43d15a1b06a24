#include "text/text_fixtures.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <utility>

#include "text/detokenizer.h"
#include "text/utf8.h"

namespace motley::text {
namespace {

std::string text_member(const Json& row, std::string_view key, const std::string& otherwise) {
  const Json* member = row.find(key);
  return member ? *member->as_string() : otherwise;
}

std::vector<int32_t> ids_member(const Json& row, std::string_view key, const std::vector<int32_t>& otherwise) {
  const Json* member = row.find(key);
  return member ? ids_in(*member) : otherwise;
}

// Streams `ids` with `before` of them primed; every returned piece must be whole characters.
std::string streamed(const Tokenizer& tokenizer, std::span<const int32_t> ids, SpecialTokens special) {
  Detokenizer stream(tokenizer, special);
  std::string text;
  for (const int32_t id : ids) {
    const auto piece = stream.feed(id);
    EXPECT_TRUE(piece.ok()) << piece.status();
    if (!piece.ok()) return text;
    EXPECT_FALSE(first_invalid_utf8(*piece)) << "a part of a character after id " << id;
    text += *piece;
  }
  const auto rest = stream.finish();
  EXPECT_TRUE(rest.ok()) << rest.status();
  return text + rest.value_or("");
}

void expect_decodes(const Tokenizer& tokenizer, const std::vector<int32_t>& ids, const std::string& text,
                    SpecialTokens special) {
  const auto whole = tokenizer.decode(ids, special);
  ASSERT_TRUE(whole.ok()) << whole.status();
  EXPECT_EQ(*whole, text);
  EXPECT_EQ(streamed(tokenizer, ids, special), text) << "streamed";
}

void expect_row(const Tokenizer& tokenizer, const Json& row, const std::string& text) {
  const std::vector<int32_t> ids = ids_in(*row.find("ids"));
  const std::string kept = text_member(row, "kept", text);
  expect_decodes(tokenizer, ids, kept, SpecialTokens::kKeep);
  expect_decodes(tokenizer, ids, text_member(row, "skipped", kept), SpecialTokens::kSkip);
}

void expect_encodes(const Tokenizer& tokenizer, const Json& row, const std::string& text) {
  const auto parsed = tokenizer.encode(text, SpecialInText::kParse, Affixes::kNone);
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  const std::vector<int32_t> ids = ids_in(*row.find("ids"));
  EXPECT_EQ(*parsed, ids);
  const auto plain = tokenizer.encode(text, SpecialInText::kAsText, Affixes::kNone);
  ASSERT_TRUE(plain.ok()) << plain.status();
  EXPECT_EQ(*plain, ids_member(row, "as_text", ids)) << "special tokens as text";
  const auto whole = tokenizer.encode(text, SpecialInText::kParse, Affixes::kCheckpoint);
  ASSERT_TRUE(whole.ok()) << whole.status();
  std::vector<int32_t> expected = ids_member(row, "whole", ids);
  const auto& prefix = tokenizer.prefix();
  // Hugging Face adds a second BOS to a text that begins with one.
  if (!prefix.empty() && ids.size() >= prefix.size() && std::equal(prefix.begin(), prefix.end(), ids.begin()))
    expected = ids;
  EXPECT_EQ(*whole, expected) << "with the checkpoint's own tokens";
}

}  // namespace

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    ADD_FAILURE() << path << " is missing. Tests run in the repository's root; what lies under .cache comes from "
                  << "tests/oracle/text/fetch.";
    return "";
  }
  return {std::istreambuf_iterator<char>(file), {}};
}

Json read_json(const std::string& path) {
  auto json = parse_json(read_file(path), path);
  EXPECT_TRUE(json.ok()) << json.status();
  return std::move(json).value_or(Json());
}

std::vector<std::string> torture_texts() {
  std::vector<std::string> texts;
  const Json json = read_json(std::string(kFixtures) + "torture.json");
  if (!json.as_array()) return texts;
  for (const Json& text : *json.as_array()) texts.push_back(*text.as_string());
  return texts;
}

std::vector<int32_t> ids_in(const Json& list) {
  std::vector<int32_t> ids;
  ids.reserve(list.as_array()->size());
  for (const Json& id : *list.as_array()) ids.push_back(static_cast<int32_t>(*id.as_int()));
  return ids;
}

model::Vocabulary vocabulary_in(const std::string& path) {
  const Json json = read_json(path);
  model::Vocabulary vocabulary;
  vocabulary.source = path;
  for (const Json& token : *json.find("tokens")->as_array()) vocabulary.tokens.push_back(*token.as_string());
  for (const Json& type : *json.find("types")->as_array()) {
    vocabulary.types.push_back(static_cast<model::Vocabulary::TokenType>(*type.as_int()));
  }
  if (const Json* scores = json.find("scores")) {
    vocabulary.kind = model::Vocabulary::Kind::kSentencePiece;
    for (const Json& score : *scores->as_array()) vocabulary.scores.push_back(static_cast<float>(*score.as_double()));
    return vocabulary;
  }
  vocabulary.pre_tokenizer = *json.find("pre")->as_string();
  for (const Json& merge : *json.find("merges")->as_array()) vocabulary.merges.push_back(*merge.as_string());
  return vocabulary;
}

model::TextAssets assets_of(model::Vocabulary vocabulary) {
  model::TextAssets assets;
  assets.tokenizer = std::move(vocabulary);
  return assets;
}

model::TextAssets assets_of_json(std::string json, std::string source) {
  model::TextAssets assets;
  assets.tokenizer = model::TokenizerJson{.json = std::move(json), .source = std::move(source)};
  return assets;
}

void expect_equals_reference(const Tokenizer& tokenizer, const std::string& reference_path) {
  const Json reference = read_json(reference_path);
  const std::vector<std::string> texts = torture_texts();
  ASSERT_TRUE(reference.find("texts"));
  const auto& rows = *reference.find("texts")->as_array();
  ASSERT_EQ(rows.size(), texts.size());
  EXPECT_EQ(tokenizer.size(), *reference.find("size")->as_int());
  for (size_t i = 0; i < rows.size(); ++i) {
    SCOPED_TRACE(reference_path + ", text " + std::to_string(i) + ": " + texts[i]);
    expect_encodes(tokenizer, rows[i], texts[i]);
    expect_row(tokenizer, rows[i], texts[i]);
  }
  const auto& streams = *reference.find("streams")->as_array();
  EXPECT_GT(streams.size(), 10u);
  for (size_t i = 0; i < streams.size(); ++i) {
    SCOPED_TRACE(reference_path + ", stream " + std::to_string(i));
    expect_row(tokenizer, streams[i], "");
  }
}

}  // namespace motley::text
