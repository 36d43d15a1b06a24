#include "ingest/tokenizer_scan.h"

#include <algorithm>
#include <charconv>

#include "base/json.h"

namespace motley::ingest {
namespace {

constexpr size_t kLongestAddedTokens = 8 << 20;  // largest published (Gemma 3, 6 thousand): 1 MB

// Steps over JSON values without keeping them. Members of an object are visited as (key text with its escapes,
// position).
class Skimmer {
 public:
  explicit Skimmer(std::string_view text) : text_(text) {}

  size_t position() const { return position_; }
  bool failed() const { return failed_; }

  char peek() {
    while (position_ < text_.size() && is_space(text_[position_])) ++position_;
    return position_ < text_.size() ? text_[position_] : '\0';
  }

  bool accept(char wanted) {
    if (peek() != wanted) return false;
    ++position_;
    return true;
  }

  // The inside of a string, escapes as written.
  std::string_view string() {
    if (!accept('"')) return fail();
    const size_t begin = position_;
    for (; position_ < text_.size(); ++position_) {
      if (text_[position_] == '\\')
        ++position_;
      else if (text_[position_] == '"')
        return text_.substr(begin, position_++ - begin);
    }
    return fail();
  }

  // Any value, as written.
  std::string_view value() {
    peek();
    const size_t begin = position_;
    uint64_t depth = 0;
    do {
      const char c = peek();
      if (c == '"') {
        string();
      } else if (c == '{' || c == '[') {
        ++depth, ++position_;
      } else if (c == '}' || c == ']') {
        if (depth == 0) return fail();
        --depth, ++position_;
      } else if (c == '\0') {
        return fail();
      } else if (c == ',' || c == ':') {
        if (depth == 0) return fail();
        ++position_;
      } else {
        scalar();
      }
    } while (depth > 0 && !failed_);
    return text_.substr(begin, position_ - begin);
  }

  // Calls visit(key) at the beginning of each member's value; visit steps over the value.
  template <typename Visit>
  void members(Visit visit) {
    if (!accept('{')) {
      fail();
      return;
    }
    if (accept('}')) return;
    do {
      const std::string_view key = string();
      if (!accept(':')) fail();
      if (!failed_) visit(key);
    } while (!failed_ && accept(','));
    if (!accept('}')) fail();
  }

  template <typename Visit>
  void items(Visit visit) {
    if (!accept('[')) {
      fail();
      return;
    }
    if (accept(']')) return;
    do visit();
    while (!failed_ && accept(','));
    if (!accept(']')) fail();
  }

 private:
  static bool is_space(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }

  void scalar() {
    const size_t begin = position_;
    while (position_ < text_.size() && !is_space(text_[position_]) &&
           std::string_view(",:]}\"[{").find(text_[position_]) == std::string_view::npos)
      ++position_;
    if (position_ == begin) fail();
  }

  std::string_view fail() {
    failed_ = true;
    position_ = text_.size();
    return {};
  }

  std::string_view text_;
  size_t position_ = 0;
  bool failed_ = false;
};

// BPE and WordPiece: {"piece": id, …}.
std::optional<int64_t> highest_of_map(Skimmer& in) {
  std::optional<int64_t> highest;
  in.members([&](std::string_view) {
    const std::string_view text = in.value();
    int64_t id = 0;
    if (std::from_chars(text.data(), text.data() + text.size(), id).ec == std::errc())
      highest = std::max(highest.value_or(id), id);
  });
  return highest;
}

// Unigram: [["piece", score], …], ids by place.
std::optional<int64_t> highest_of_list(Skimmer& in) {
  int64_t count = 0;
  in.items([&] {
    in.value();
    ++count;
  });
  return count == 0 ? std::nullopt : std::optional(count - 1);
}

void scan_model(Skimmer& in, TokenizerFacts& facts) {
  in.members([&](std::string_view key) {
    if (key != "vocab")
      in.value();
    else
      facts.highest_id = in.peek() == '[' ? highest_of_list(in) : highest_of_map(in);
  });
}

Status read_added_tokens(std::string_view text, std::string_view where, TokenizerFacts& facts) {
  REJECT_IF(text.size() > kLongestAddedTokens, "tokenizer.added_size", where,
            fmt::format("at most {} bytes of added tokens", kLongestAddedTokens), text.size());
  TRY(const Json list, parse_json(text, fmt::format("{} added_tokens", where)));
  const Json::Array none;
  for (const Json& item : list.as_array() == nullptr ? none : *list.as_array()) {
    const Json* id = item.find("id");
    const Json* content = item.find("content");
    const bool complete =
        id != nullptr && id->as_uint() && *id->as_uint() <= INT32_MAX && content != nullptr && content->as_string();
    REJECT_IF(!complete, "tokenizer.added", where, "an id and a content for each added token",
              item.dump().substr(0, 80));
    if (complete) facts.added_tokens.emplace(*content->as_string(), static_cast<int64_t>(*id->as_uint()));
  }
  return absl::OkStatus();
}

}  // namespace

StatusOr<TokenizerFacts> scan_tokenizer(std::string_view json, std::string_view where) {
  TokenizerFacts facts;
  Skimmer in(json);
  std::string_view added;
  in.members([&](std::string_view key) {
    if (key == "model" && in.peek() == '{')
      scan_model(in, facts);
    else if (key == "added_tokens")
      added = in.value();
    else
      in.value();
  });
  REJECT_IF(in.failed() || in.peek() != '\0', "tokenizer.syntax", where, "one JSON object", "something else");
  if (!added.empty()) TRY(read_added_tokens(added, where, facts));
  return facts;
}

}  // namespace motley::ingest
