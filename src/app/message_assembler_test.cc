#include "app/message_assembler.h"

#include "gtest/gtest.h"

namespace motley::app {
namespace {

TEST(MessageAssembler, TakesALineAsItIs) {
  MessageAssembler assembler;
  EXPECT_EQ(assembler.feed("  a \"quoted\" line "), "  a \"quoted\" line ");
  EXPECT_EQ(assembler.feed(""), "");
}

TEST(MessageAssembler, JoinsContinuedLines) {
  MessageAssembler assembler;
  EXPECT_EQ(assembler.feed("one\\"), std::nullopt);
  EXPECT_TRUE(assembler.in_progress());
  EXPECT_EQ(assembler.feed("two\\"), std::nullopt);
  EXPECT_EQ(assembler.feed("three"), "one\ntwo\nthree");
  EXPECT_EQ(assembler.feed("next"), "next");
}

TEST(MessageAssembler, JoinsQuotedLines) {
  MessageAssembler assembler;
  EXPECT_EQ(assembler.feed("\"\"\"one"), std::nullopt);
  EXPECT_EQ(assembler.feed("two\\"), std::nullopt);
  EXPECT_EQ(assembler.feed(""), std::nullopt);
  EXPECT_EQ(assembler.feed("three\"\"\""), "one\ntwo\\\n\nthree");
  EXPECT_FALSE(assembler.in_progress());
}

TEST(MessageAssembler, AllowsQuotesOnTheirOwnLinesAndAroundOne) {
  MessageAssembler assembler;
  EXPECT_EQ(assembler.feed("\"\"\"one\"\"\""), "one");
  EXPECT_EQ(assembler.feed("\"\"\""), std::nullopt);
  EXPECT_EQ(assembler.feed("text"), std::nullopt);
  EXPECT_EQ(assembler.feed("\"\"\""), "\ntext\n");
}

TEST(MessageAssembler, ForgetsWhatWasGivenUp) {
  MessageAssembler assembler;
  EXPECT_EQ(assembler.feed("\"\"\"one"), std::nullopt);
  assembler.reset();
  EXPECT_EQ(assembler.feed("two"), "two");
}

}  // namespace
}  // namespace motley::app
