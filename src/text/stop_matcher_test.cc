#include "text/stop_matcher.h"

#include <gtest/gtest.h>

#include "text/utf8.h"

namespace motley::text {
namespace {

// What a reader of the whole text would keep: everything before the first stop string.
std::string before_first(const std::string& text, const std::vector<std::string>& stops) {
  size_t end = text.size();
  for (const std::string& stop : stops) end = std::min(end, stop.empty() ? end : text.find(stop));
  return text.substr(0, end);
}

// All ways to cut `text` into pieces (up to 2^12).
void expect_every_cut(const std::string& text, const std::vector<std::string>& stops) {
  const std::string expected = before_first(text, stops);
  for (unsigned cuts = 0; cuts < (1u << (text.size() - 1)); ++cuts) {
    StopMatcher matcher(stops);
    std::string shown;
    std::string piece;
    bool stopped = false;
    for (size_t i = 0; i < text.size(); ++i) {
      piece += text[i];
      if (i + 1 < text.size() && (cuts >> i & 1) == 0) continue;
      const auto result = matcher.feed(piece);
      shown += result.text;
      stopped = result.stopped;
      piece.clear();
      EXPECT_TRUE(expected.starts_with(shown)) << "shown too early: " << shown;
    }
    shown += matcher.finish();
    EXPECT_EQ(shown, expected) << text;
    EXPECT_EQ(stopped, expected.size() < text.size());
  }
}

TEST(StopMatcher, FindsStopStringsOverEveryBorder) {
  expect_every_cut("one END two", {"END"});
  expect_every_cut("one EN two", {"END"});
  expect_every_cut("aaaab", {"aab"});
  expect_every_cut("ababac", {"abac"});
  expect_every_cut("xabcx", {"abcd", "bc"});
  expect_every_cut("xabcdx", {"abcd", "bc"});
  expect_every_cut("hello", {"", "zzz"});
  expect_every_cut("hello", {});
}

TEST(StopMatcher, SaysWhichStringStopped) {
  StopMatcher matcher({"\n\n", "###"});
  EXPECT_FALSE(matcher.feed("a\n").stopped);
  const auto result = matcher.feed("b##");
  EXPECT_EQ(result.text, "\nb");
  EXPECT_TRUE(matcher.feed("# more").stopped);
  EXPECT_EQ(matcher.found(), "###");
  EXPECT_EQ(matcher.feed("later").text, "");
  EXPECT_EQ(matcher.finish(), "");
}

TEST(Utf8, FindsTheFirstByteThatIsNoCharacter) {
  EXPECT_EQ(first_invalid_utf8(""), std::nullopt);
  EXPECT_EQ(first_invalid_utf8("aé日😀\U0010FFFF"), std::nullopt);
  EXPECT_EQ(first_invalid_utf8("a\x80"), 1u);         // a lone continuation
  EXPECT_EQ(first_invalid_utf8("a\xC0\xAF"), 1u);     // overlong
  EXPECT_EQ(first_invalid_utf8("\xE0\x9F\xBF"), 0u);  // overlong
  EXPECT_EQ(first_invalid_utf8("\xF0\x8F\xBF\xBF"), 0u);
  EXPECT_EQ(first_invalid_utf8("\xED\xA0\x80"), 0u);      // a surrogate
  EXPECT_EQ(first_invalid_utf8("\xF4\x90\x80\x80"), 0u);  // above U+10FFFF
  EXPECT_EQ(first_invalid_utf8("ab\xE6\x97"), 2u);        // cut
  EXPECT_EQ(first_invalid_utf8("\xFF"), 0u);
}

}  // namespace
}  // namespace motley::text
