// Real tokenizers against Hugging Face's own ids. Needs tests/oracle/text/fetch; fails without it.
#include <gtest/gtest.h>

#include <algorithm>

#include "text/text_fixtures.h"
#include "text/tokenizer.h"

namespace motley::text {
namespace {

class FetchedTokenizer : public testing::TestWithParam<const char*> {};

TEST_P(FetchedTokenizer, EqualsHuggingFace) {
  const std::string path = std::string(kFetched) + GetParam() + "/tokenizer.json";
  const std::string json = read_file(path);
  if (json.empty()) return;  // read_file has failed the test
  const auto tokenizer = Tokenizer::load(assets_of_json(json, path));
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.status();
  expect_equals_reference(*tokenizer, std::string(kFixtures) + "reference-" + GetParam() + ".json");
}

INSTANTIATE_TEST_SUITE_P(Packages, FetchedTokenizer,
                         testing::Values("llama2", "llama3", "qwen3", "gemma3", "gptoss", "deepseek_v3"),
                         [](const auto& row) { return std::string(row.param); });

// A GGUF of Llama 2 stores its pieces with the scores that SentencePiece gave them, minus the rank of the merge, and no
// merges. The ids must be those of the model's own tokenizer.json.
TEST(FetchedVocabulary, Llama2PiecesWithScoresEqualItsTokenizerJson) {
  constexpr size_t kFirstMerged = 259;   // after the unknown, two control and 256 byte tokens
  constexpr float kRunOfSpaces = -1e9f;  // the score that SentencePiece gives them all
  constexpr std::string_view kSpace = "▁";
  const Json json = read_json(std::string(kFetched) + "llama2/tokenizer.json");
  if (!json.find("model")) return;  // read_json has failed the test
  const auto& vocab = *json.find("model")->find("vocab")->as_object();
  using Type = model::Vocabulary::TokenType;
  model::Vocabulary pieces;
  pieces.kind = model::Vocabulary::Kind::kSentencePiece;
  pieces.source = "llama2 pieces";
  pieces.tokens.resize(vocab.size());
  for (const auto& [token, id] : vocab) pieces.tokens.at(static_cast<size_t>(*id.as_int())) = token;
  for (size_t id = 0; id < vocab.size(); ++id) {
    const bool spaces = id >= kFirstMerged && pieces.tokens[id].size() > kSpace.size() &&
                        pieces.tokens[id].find_first_not_of(kSpace) == std::string::npos;
    pieces.scores.push_back(spaces ? kRunOfSpaces : id < kFirstMerged ? 0.0f : -static_cast<float>(id - kFirstMerged));
    pieces.types.push_back(id == 0             ? Type::kUnknown
                           : id < 3            ? Type::kControl
                           : id < kFirstMerged ? Type::kByte
                                               : Type::kNormal);
  }
  model::TextAssets assets = assets_of(std::move(pieces));
  assets.bos_id = 1;
  const auto tokenizer = Tokenizer::load(assets);
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.status();
  expect_equals_reference(*tokenizer, std::string(kFixtures) + "reference-llama2.json");
}

}  // namespace
}  // namespace motley::text
