#include "text/vocabulary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>

#include "text/pre_tokenizers.h"
#include "text/tokenizer.h"

namespace motley::text {
namespace {

using model::Vocabulary;
using Type = Vocabulary::TokenType;

Vocabulary byte_level() {
  Vocabulary vocabulary;
  vocabulary.tokens = {"a", "b", "ab", "<end>", "<user>", "<end>"};
  vocabulary.types = {Type::kNormal, Type::kNormal, Type::kNormal, Type::kControl, Type::kUserDefined, Type::kUnused};
  vocabulary.merges = {"a b"};
  vocabulary.pre_tokenizer = std::string("gpt-2");
  vocabulary.source = std::string("model.gguf");
  return vocabulary;
}

Vocabulary sentence_piece() {
  Vocabulary vocabulary;
  vocabulary.kind = Vocabulary::Kind::kSentencePiece;
  vocabulary.tokens = {"<unk>", "<s>", "▁", "a", "▁a"};
  vocabulary.types = {Type::kUnknown, Type::kControl, Type::kNormal, Type::kNormal, Type::kNormal};
  for (int byte = 0; byte < 256; ++byte) {
    vocabulary.tokens.push_back(fmt::format("<0x{:02X}>", byte));
    vocabulary.types.push_back(Type::kByte);
  }
  vocabulary.scores.assign(vocabulary.tokens.size(), 0.0f);
  vocabulary.source = std::string("model.gguf");
  return vocabulary;
}

struct Broken {
  const char* site;
  std::function<void(Vocabulary&)> damage;
};

void expect_refused(Vocabulary vocabulary, const Broken& row) {
  SCOPED_TRACE(row.site);
  ASSERT_TRUE(tokenizer_json_of(vocabulary).ok());
  row.damage(vocabulary);
  const auto json = tokenizer_json_of(vocabulary);
  ASSERT_FALSE(json.ok());
  EXPECT_EQ(rejection_site(json.status()), row.site);
  EXPECT_THAT(std::string(json.status().message()), testing::StartsWith("model.gguf"));
  EXPECT_EQ(json.status().message().find('\n'), std::string::npos);
}

TEST(Vocabulary, ByteLevelVocabulariesThatLieAreRefused) {
  const Broken rows[] = {
      {"vocabulary.empty", [](Vocabulary& v) { v.tokens.clear(); }},
      {"vocabulary.types", [](Vocabulary& v) { v.types.pop_back(); }},
      {"vocabulary.type", [](Vocabulary& v) { v.types[0] = static_cast<Type>(7); }},
      {"vocabulary.utf8", [](Vocabulary& v) { v.tokens[0] = std::string("\xff"); }},
      {"vocabulary.token_size", [](Vocabulary& v) { v.tokens[4] = std::string(5000, 'x'); }},
      {"vocabulary.duplicate", [](Vocabulary& v) { v.tokens[4] = std::string("<end>"); }},
      {"vocabulary.empty_token", [](Vocabulary& v) { v.tokens[4] = std::string(""); }},
      {"vocabulary.pre_tokenizer", [](Vocabulary& v) { v.pre_tokenizer = std::string("no-such-splits"); }},
      {"vocabulary.merge", [](Vocabulary& v) { v.merges[0] = std::string("ab"); }},
      {"vocabulary.merge_token", [](Vocabulary& v) { v.merges[0] = std::string("b a"); }},
      {"vocabulary.byte_token", [](Vocabulary& v) { v.types[0] = Type::kByte; }},
  };
  for (const Broken& row : rows) expect_refused(byte_level(), row);
}

TEST(Vocabulary, SentencePieceVocabulariesThatLieAreRefused) {
  const Broken rows[] = {
      {"vocabulary.scores", [](Vocabulary& v) { v.scores.pop_back(); }},
      {"vocabulary.score", [](Vocabulary& v) { v.scores[3] = std::numeric_limits<float>::quiet_NaN(); }},
      {"vocabulary.scored_merges", [](Vocabulary& v) { v.merges.emplace_back("a b"); }},
      {"vocabulary.byte_token", [](Vocabulary& v) { v.tokens[5] = std::string("<0x-1>"); }},
      {"vocabulary.byte_token", [](Vocabulary& v) { v.tokens[5] = std::string("<0xab>"); }},
      {"vocabulary.byte_token", [](Vocabulary& v) { v.tokens[5] = std::string("<0x100>"); }},
      {"vocabulary.byte_count", [](Vocabulary& v) { v.types[5] = Type::kNormal; }},
      {"vocabulary.unknown", [](Vocabulary& v) { v.types[1] = Type::kUnknown; }},
  };
  for (const Broken& row : rows) expect_refused(sentence_piece(), row);
}

TEST(Vocabulary, ATokenMoreThanTheLimitIsRefused) {
  Vocabulary vocabulary;
  vocabulary.source = std::string("model.gguf");
  vocabulary.tokens.resize((size_t{1} << 22) + 1);
  EXPECT_EQ(rejection_site(tokenizer_json_of(vocabulary).status()), "vocabulary.count");
}

TEST(Vocabulary, UserDefinedTokensAreFoundInTextButAreNotSpecial) {
  model::TextAssets assets;
  assets.tokenizer = byte_level();
  const auto tokenizer = Tokenizer::load(assets);
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.status();
  EXPECT_EQ(tokenizer->encode("ab<user>a<end>", SpecialInText::kParse, Affixes::kNone).value(),
            (std::vector<int32_t>{2, 4, 0, 3}));
  EXPECT_TRUE(tokenizer->is_special(3));
  EXPECT_FALSE(tokenizer->is_special(4));
  EXPECT_EQ(tokenizer->highest_id(), 4) << "the unused repetition has no entry";
}

// Every row of the table is JSON that the crate takes, with patterns that its regex engine compiles.
TEST(PreTokenizers, EveryNameLoads) {
  const char* const names[] = {
#define PRE_TOKENIZER(name, normalizer, splits, merges, start) name,
#include "text/pre_tokenizers.def"
#undef PRE_TOKENIZER
  };
  EXPECT_GT(std::size(names), 40u);
  for (const char* name : names) {
    SCOPED_TRACE(name);
    Vocabulary vocabulary = byte_level();
    vocabulary.pre_tokenizer = name;
    model::TextAssets assets;
    assets.tokenizer = vocabulary;
    const auto tokenizer = Tokenizer::load(assets);
    ASSERT_TRUE(tokenizer.ok()) << tokenizer.status();
    EXPECT_EQ(tokenizer->encode("ab<end>", SpecialInText::kParse, Affixes::kNone).value(),
              (std::vector<int32_t>{2, 3}));
  }
}

TEST(PreTokenizers, TheDefaultForBosFollowsTheName) {
  Vocabulary vocabulary = byte_level();
  EXPECT_FALSE(adds_bos_by_default(vocabulary));
  vocabulary.pre_tokenizer = std::string("llama-bpe");
  EXPECT_TRUE(adds_bos_by_default(vocabulary));
  EXPECT_TRUE(adds_bos_by_default(sentence_piece()));
}

TEST(TokenizerJson, BrokenDescriptionsAreRefusedInOneLine) {
  const std::string good = tokenizer_json_of(byte_level()).value();
  std::string wrong_id = good;
  wrong_id[good.find("\"id\":3") + 5] = '1';
  for (const std::string& json : {std::string(), std::string("{}"), std::string("[]"), std::string("\xff"),
                                  std::string(99999, '['), good.substr(0, good.size() / 2), wrong_id}) {
    model::TextAssets assets;
    assets.tokenizer = model::TokenizerJson{.json = json, .source = "tokenizer.json"};
    const auto tokenizer = Tokenizer::load(assets);
    ASSERT_FALSE(tokenizer.ok()) << json.substr(0, 100);
    EXPECT_EQ(rejection_site(tokenizer.status()), "tokenizer.json");
    EXPECT_EQ(tokenizer.status().message().find('\n'), std::string::npos);
  }
  EXPECT_EQ(Tokenizer::load({}).status().code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace motley::text
