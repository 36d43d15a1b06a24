#include "text/tokenizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "text/detokenizer.h"
#include "text/text_fixtures.h"

namespace motley::text {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

const std::string kVocabulary = std::string(kFixtures) + "smollm2-vocabulary.json";
const std::string kTwin = std::string(kFixtures) + "smollm2-tokenizer.json";
const std::string kTok512 = std::string(kFixtures) + "tok512.json";

Tokenizer loaded(const model::TextAssets& assets) {
  auto tokenizer = Tokenizer::load(assets);
  EXPECT_TRUE(tokenizer.ok()) << tokenizer.status();
  return *std::move(tokenizer);
}

TEST(Tokenizer, GgufVocabularyEqualsHuggingFace) {
  expect_equals_reference(loaded(assets_of(vocabulary_in(kVocabulary))),
                          std::string(kFixtures) + "reference-smollm2.json");
}

TEST(Tokenizer, TokenizerJsonEqualsHuggingFace) {
  expect_equals_reference(loaded(assets_of_json(read_file(kTwin), kTwin)),
                          std::string(kFixtures) + "reference-smollm2.json");
}

TEST(Tokenizer, Llama2cVocabularyEqualsRunC) {
  const Tokenizer tokenizer = loaded(assets_of(vocabulary_in(kTok512)));
  const Json reference = read_json(std::string(kFixtures) + "reference-tok512.json");
  ASSERT_GT(reference.as_array()->size(), 100u);
  for (const Json& row : *reference.as_array()) {
    const std::string& text = *row.find("text")->as_string();
    SCOPED_TRACE(text);
    const auto ids = tokenizer.encode(text, SpecialInText::kAsText, Affixes::kNone);
    ASSERT_TRUE(ids.ok()) << ids.status();
    EXPECT_EQ(*ids, ids_in(*row.find("ids")));
    EXPECT_EQ(tokenizer.decode(*ids, SpecialTokens::kKeep).value_or(""), text);
  }
}

TEST(Tokenizer, SentencePieceTextsBeginWithBos) {
  model::TextAssets assets = assets_of(vocabulary_in(kTok512));
  assets.bos_id = 1;
  const auto ids = loaded(assets).encode("Once upon a time", SpecialInText::kAsText, Affixes::kCheckpoint);
  ASSERT_TRUE(ids.ok()) << ids.status();
  EXPECT_EQ(ids->front(), 1);
  assets.add_bos = false;
  EXPECT_THAT(loaded(assets).prefix(), IsEmpty());
}

TEST(Tokenizer, BosIsNotDoubledWhenTheTextBeginsWithIt) {
  model::TextAssets assets = assets_of_json(read_file(kTwin), kTwin);
  assets.bos_token = "<|im_start|>";
  assets.add_bos = true;
  const Tokenizer tokenizer = loaded(assets);
  EXPECT_THAT(tokenizer.prefix(), ElementsAre(1));
  const auto once = tokenizer.encode("<|im_start|>user", SpecialInText::kParse, Affixes::kCheckpoint);
  const auto added = tokenizer.encode("user", SpecialInText::kParse, Affixes::kCheckpoint);
  ASSERT_TRUE(once.ok() && added.ok());
  EXPECT_EQ(*once, *added);
}

TEST(Tokenizer, InvalidUtf8IsRefusedWithItsOffset) {
  const Tokenizer tokenizer = loaded(assets_of(vocabulary_in(kTok512)));
  for (const std::string& text : {std::string("abc\xff"), std::string("abc\xe4\xbd"), std::string("abc\xed\xa0\x80")}) {
    const auto ids = tokenizer.encode(text, SpecialInText::kParse, Affixes::kNone);
    ASSERT_FALSE(ids.ok());
    EXPECT_EQ(rejection_site(ids.status()), "text.utf8");
    EXPECT_THAT(ids.status().message(), testing::HasSubstr("byte 3"));
    EXPECT_THAT(ids.status().message(), testing::Not(testing::HasSubstr("\n")));
  }
}

TEST(Tokenizer, IdsBeyondTheEmbeddingAreRefused) {
  const Tokenizer tokenizer = loaded(assets_of(vocabulary_in(kTok512)));
  EXPECT_EQ(tokenizer.highest_id(), 511);
  EXPECT_TRUE(tokenizer.check_rows(512).ok());
  EXPECT_EQ(rejection_site(tokenizer.check_rows(511)), "tokenizer.rows");
}

TEST(Tokenizer, TokensAreFoundByIdAndSpelling) {
  const Tokenizer tokenizer = loaded(assets_of(vocabulary_in(kTok512)));
  EXPECT_EQ(tokenizer.token(3 + 'A'), "<0x41>");
  EXPECT_EQ(tokenizer.token_bytes(3 + 'A'), "A");
  EXPECT_EQ(tokenizer.token_bytes(3 + 0xE4), "\xE4");
  const auto space = tokenizer.id_of("▁");
  ASSERT_TRUE(space);
  EXPECT_EQ(tokenizer.token_bytes(*space), " ");
  EXPECT_EQ(tokenizer.token(512), std::nullopt);
  EXPECT_EQ(tokenizer.token_bytes(-1), std::nullopt);
  EXPECT_EQ(tokenizer.id_of("no such token"), std::nullopt);
  EXPECT_TRUE(tokenizer.is_special(1));
  EXPECT_FALSE(tokenizer.is_special(300));
  const Tokenizer byte_level = loaded(assets_of(vocabulary_in(kVocabulary)));
  const auto word = byte_level.id_of("Ġthe");
  ASSERT_TRUE(word);
  EXPECT_EQ(byte_level.token_bytes(*word), " the");
}

TEST(Tokenizer, NegativeIdsAreRefused) {
  const Tokenizer tokenizer = loaded(assets_of(vocabulary_in(kTok512)));
  EXPECT_EQ(rejection_site(tokenizer.decode(std::vector<int32_t>{5, -1}, SpecialTokens::kKeep).status()), "text.id");
  Detokenizer stream(tokenizer, SpecialTokens::kKeep);
  EXPECT_EQ(rejection_site(stream.feed(-1).status()), "text.id_fed");
  EXPECT_EQ(rejection_site(stream.prime(std::vector<int32_t>{-1})), "text.id_before");
}

TEST(Detokenizer, AnAnswerContinuesThePromptWithItsSpace) {
  const Tokenizer tokenizer = loaded(assets_of(vocabulary_in(kTok512)));
  const auto ids = tokenizer.encode("Once upon a time 😀 there was", SpecialInText::kAsText, Affixes::kNone);
  ASSERT_TRUE(ids.ok());
  const std::string whole = tokenizer.decode(*ids, SpecialTokens::kKeep).value();
  for (size_t cut = 0; cut <= ids->size(); ++cut) {
    const std::span<const int32_t> before(ids->data(), cut);
    const std::string prompt = tokenizer.decode(before, SpecialTokens::kKeep).value();
    if (!whole.starts_with(prompt)) continue;  // the cut is inside a character
    Detokenizer stream(tokenizer, SpecialTokens::kKeep);
    ASSERT_TRUE(stream.prime(before).ok());
    std::string answer;
    for (size_t i = cut; i < ids->size(); ++i) answer += stream.feed((*ids)[i]).value();
    answer += stream.finish().value();
    EXPECT_EQ(prompt + answer, whole) << "cut at " << cut;
  }
}

TEST(Detokenizer, TheNextTextBeginsAfterFinish) {
  const Tokenizer tokenizer = loaded(assets_of(vocabulary_in(kTok512)));
  const auto ids = tokenizer.encode("Once", SpecialInText::kAsText, Affixes::kNone);
  ASSERT_TRUE(ids.ok());
  Detokenizer stream(tokenizer, SpecialTokens::kKeep);
  for (int round = 0; round < 2; ++round) {
    std::string text;
    for (const int32_t id : *ids) text += stream.feed(id).value();
    EXPECT_EQ(text + stream.finish().value(), "Once");
  }
}

}  // namespace
}  // namespace motley::text
