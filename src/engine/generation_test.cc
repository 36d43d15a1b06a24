#include "engine/generation.h"

#include "engine/testing/fake_runner.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace motley::engine {
namespace {

using ::testing::ElementsAre;
using testing::FakeRunner;
using ::testing::IsEmpty;

// Llama 2's layout: three special tokens, 256 bytes, then pieces.
constexpr int32_t kEnd = 2, kFirstByte = 3, kFirstPiece = 259;
const char* const kPieces[] = {"\u2581the", "\u2581cat", "\u2581sat", "s", "S", "T", "O",
                               "P",         "\u2581",    "a",         "t", "h", "e"};
enum Piece : int32_t { kThe = kFirstPiece, kCat, kSat, kSmallS, kS, kT, kO, kP };
int32_t byte_id(uint8_t byte) { return kFirstByte + byte; }

text::Tokenizer tokenizer() {
  using Type = model::Vocabulary::TokenType;
  model::Vocabulary vocabulary;
  vocabulary.kind = model::Vocabulary::Kind::kSentencePiece;
  vocabulary.source = "test";
  const auto add = [&](std::string token, Type type) {
    vocabulary.scores.push_back(-static_cast<float>(vocabulary.tokens.size()));
    vocabulary.tokens.push_back(std::move(token));
    vocabulary.types.push_back(type);
  };
  add("<unk>", Type::kUnknown);
  add("<s>", Type::kControl);
  add("</s>", Type::kControl);
  for (int byte = 0; byte < 256; ++byte) add(fmt::format("<0x{:02X}>", byte), Type::kByte);
  for (const char* piece : kPieces) add(piece, Type::kNormal);
  model::TextAssets assets;
  assets.tokenizer = std::move(vocabulary);
  auto loaded = text::Tokenizer::load(assets);
  EXPECT_TRUE(loaded.ok()) << loaded.status();
  return *std::move(loaded);
}

class GenerationTest : public ::testing::Test {
 protected:
  // The model answers a prompt of `prompt_` with `answer` and then for ever with its last id.
  StatusOr<Generation> answer(const std::vector<int32_t>& answer, const GenerationOptions& options) {
    const size_t prompt_tokens = prompt_.size();
    FakeRunner runner({.context_tokens = context_tokens_}, [=](const std::vector<int32_t>& ids) {
      return answer[std::min(ids.size() - prompt_tokens, answer.size() - 1)];
    });
    runner.after_step = after_step_;
    Sequence sequence(runner);
    const Observer observer{.on_text = [&](std::string_view text) { return see(text); }, .on_prefill = nullptr};
    return generate(sequence, tokenizer_, prompt_, options, observer, cancelled_);
  }

  Status see(std::string_view text) {
    pieces_.emplace_back(text);
    return on_text_;
  }

  std::string seen() const {
    std::string all;
    for (const std::string& piece : pieces_) all += piece;
    return all;
  }

  const text::Tokenizer tokenizer_ = tokenizer();
  std::vector<int32_t> prompt_ = {1, kThe};
  uint32_t context_tokens_ = 32;
  std::vector<std::string> pieces_;
  std::atomic<bool> cancelled_{false};
  std::function<void()> after_step_;
  Status on_text_ = absl::OkStatus();
};

GenerationOptions at_most(uint32_t tokens) {
  GenerationOptions options;
  options.max_tokens = tokens;
  return options;
}

TEST_F(GenerationTest, EndsAtAnEndTokenThatIsNotText) {
  GenerationOptions options;
  options.end_ids = {7, kEnd};
  const auto result = answer({kCat, kSat, kEnd}, options);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->stop_reason, StopReason::kEnd);
  EXPECT_EQ(result->text, "cat sat");
  EXPECT_EQ(seen(), result->text);
  EXPECT_THAT(result->ids, ElementsAre(kCat, kSat, kEnd));
  EXPECT_THAT(result->prompt_ids, ElementsAre(1, kThe));
}

TEST_F(GenerationTest, GoesOnAfterAnEndTokenThatNobodyNamed) {
  const auto result = answer({kCat, kEnd, kSat}, at_most(3));
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->stop_reason, StopReason::kLength);
  EXPECT_EQ(result->text, "cat sat");
}

TEST_F(GenerationTest, KeepsTheSpaceOfAContinuation) {
  GenerationOptions options = at_most(2);
  options.continues = GenerationOptions::Continues::kPrompt;
  const auto result = answer({kCat, kSmallS}, options);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->text, " cats");
}

TEST_F(GenerationTest, FindsAStopStringAcrossTokensAndNeverShowsIt) {
  GenerationOptions options = at_most(20);
  options.stop_strings = {"STOP"};
  const auto result = answer({kCat, kS, kT, kSat, kS, kT, kO, kP, kCat}, options);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->stop_reason, StopReason::kStop);
  EXPECT_EQ(result->text, "catST sat");
  EXPECT_EQ(seen(), result->text);
  EXPECT_THAT(result->ids, ElementsAre(kCat, kS, kT, kSat, kS, kT, kO, kP));
}

TEST_F(GenerationTest, GivesOutAHalfStopStringAtTheEnd) {
  GenerationOptions options = at_most(3);
  options.stop_strings = {"STOP"};
  const auto result = answer({kCat, kS, kT}, options);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->stop_reason, StopReason::kLength);
  EXPECT_EQ(result->text, "catST");
  EXPECT_EQ(seen(), result->text);
}

TEST_F(GenerationTest, FindsAStopStringInBytesThatWereHeldBack) {
  GenerationOptions options = at_most(3);
  options.stop_strings = {"\u00e9"};
  const auto result = answer({kCat, byte_id(0xc3), byte_id(0xa9)}, options);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->stop_reason, StopReason::kStop);
  EXPECT_EQ(result->text, "cat");
}

TEST_F(GenerationTest, ShowsWholeCharactersOnly) {
  const auto result = answer({byte_id(0xf0), byte_id(0x9f), byte_id(0x98), byte_id(0x80), kCat}, at_most(5));
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->text, "\U0001F600 cat");
  ASSERT_FALSE(pieces_.empty());
  EXPECT_EQ(pieces_[0].substr(0, 4), "\U0001F600");
}

TEST_F(GenerationTest, CountsGeneratedTokensOnly) {
  const auto result = answer({kCat}, at_most(5));
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->stop_reason, StopReason::kLength);
  EXPECT_EQ(result->ids.size(), 5u);
  EXPECT_EQ(result->timings.decode_tokens, 4u);
  EXPECT_EQ(result->timings.prefill_tokens, 2u);
}

TEST_F(GenerationTest, GeneratesNothingWhenNothingIsWanted) {
  const auto result = answer({kCat}, at_most(0));
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->stop_reason, StopReason::kLength);
  EXPECT_THAT(result->ids, IsEmpty());
  EXPECT_EQ(result->timings.decode_tokens_per_s(), std::nullopt);
}

TEST_F(GenerationTest, SaysWhenTheContextIsFull) {
  context_tokens_ = 8;
  const auto result = answer({kCat}, {});
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->stop_reason, StopReason::kContext);
  EXPECT_EQ(result->prompt_ids.size() + result->ids.size(), 8u);
}

TEST_F(GenerationTest, StopsWhenCancelledAndKeepsWhatThereIs) {
  int steps = 0;
  after_step_ = [&] { cancelled_ = ++steps == 3; };
  const auto result = answer({kCat}, at_most(20));
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->stop_reason, StopReason::kCancelled);
  EXPECT_EQ(result->ids.size(), 2u);
  EXPECT_EQ(result->text, "cat cat");
}

TEST_F(GenerationTest, EndsWithTheErrorOfWhoeverReads) {
  on_text_ = absl::DataLossError("disk full");
  EXPECT_EQ(answer({kCat}, at_most(20)).status().code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(pieces_.size(), 1u);
}

}  // namespace
}  // namespace motley::engine
