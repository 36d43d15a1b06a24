#include "text/vocabulary.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "fmt/format.h"
#include "text/pre_tokenizers.h"
#include "text/utf8.h"

namespace motley::text {
namespace {

using model::Vocabulary;
using Kind = Vocabulary::Kind;
using Type = Vocabulary::TokenType;
using Ids = std::unordered_map<std::string_view, int32_t>;

constexpr size_t kByteTokens = 256;
// Above any published vocabulary (the largest has 262,144 tokens); bounds what an untrusted count can cost.
constexpr size_t kMaxTokens = size_t{1} << 22;
// SentencePiece makes no longer pieces unless told to; bounds the splits that are tried for one piece.
constexpr size_t kMaxPieceBytes = 4096;

std::string place(const Vocabulary& vocabulary, std::string_view what, size_t index) {
  return fmt::format("{}, {} {}", vocabulary.source, what, index);
}

// NN of "<0xNN>" with two upper-case hexadecimal digits; -1 for any other token.
int byte_of(std::string_view token) {
  if (token.size() != 6 || !token.starts_with("<0x") || token[5] != '>') return -1;
  int value = 0;
  for (const char digit : token.substr(3, 2)) {
    if (digit >= '0' && digit <= '9') {
      value = value * 16 + (digit - '0');
    } else if (digit >= 'A' && digit <= 'F') {
      value = value * 16 + (digit - 'A' + 10);
    } else {
      return -1;
    }
  }
  return value;
}

Status check_counts(const Vocabulary& vocabulary) {
  const size_t count = vocabulary.tokens.size();
  REJECT_IF(count == 0, "vocabulary.empty", vocabulary.source, "at least one token", 0);
  REJECT_IF(count > kMaxTokens, "vocabulary.count", vocabulary.source, fmt::format("at most {} tokens", kMaxTokens),
            count);
  REJECT_IF(vocabulary.types.size() != count, "vocabulary.types", vocabulary.source,
            fmt::format("{} token types", count), vocabulary.types.size());
  const bool scored = vocabulary.kind == Kind::kSentencePiece;
  REJECT_IF(scored && vocabulary.scores.size() != count, "vocabulary.scores", vocabulary.source,
            fmt::format("{} scores", count), vocabulary.scores.size());
  REJECT_IF(scored && !vocabulary.merges.empty(), "vocabulary.scored_merges", vocabulary.source,
            "scores and no merges in a SentencePiece vocabulary", fmt::format("{} merges", vocabulary.merges.size()));
  return absl::OkStatus();
}

Status check_token(const Vocabulary& vocabulary, size_t id) {
  const std::string& token = vocabulary.tokens[id];
  const auto type = static_cast<int>(vocabulary.types[id]);
  REJECT_IF(type < static_cast<int>(Type::kNormal) || type > static_cast<int>(Type::kByte), "vocabulary.type",
            place(vocabulary, "token", id), "a type from 1 to 6", type);
  REJECT_IF(first_invalid_utf8(token).has_value(), "vocabulary.utf8", place(vocabulary, "token", id), "UTF-8",
            fmt::format("an invalid byte at offset {}", first_invalid_utf8(token).value_or(0)));
  REJECT_IF(token.size() > kMaxPieceBytes, "vocabulary.token_size", place(vocabulary, "token", id),
            fmt::format("at most {} bytes", kMaxPieceBytes), token.size());
  REJECT_IF(vocabulary.types[id] == Type::kByte && byte_of(token) < 0, "vocabulary.byte_token",
            place(vocabulary, "byte token", id), "<0x00> to <0xFF>", token);
  const bool scored = vocabulary.kind == Kind::kSentencePiece;
  REJECT_IF(scored && !std::isfinite(vocabulary.scores[id]), "vocabulary.score", place(vocabulary, "score", id),
            "a finite number", vocabulary.scores[id]);
  return absl::OkStatus();
}

// Every token's id. An unused token (padding) may repeat another's spelling or be empty; it then has no entry.
StatusOr<Ids> index_tokens(const Vocabulary& vocabulary) {
  Ids ids;
  ids.reserve(vocabulary.tokens.size());
  for (size_t id = 0; id < vocabulary.tokens.size(); ++id) {
    TRY(check_token(vocabulary, id));
    const std::string& token = vocabulary.tokens[id];
    const bool unused = vocabulary.types[id] == Type::kUnused;
    REJECT_IF(token.empty() && !unused, "vocabulary.empty_token", place(vocabulary, "token", id), "at least one byte",
              0);
    if (token.empty()) continue;
    const auto [entry, added] = ids.emplace(token, static_cast<int32_t>(id));
    if (added) continue;
    const auto before = static_cast<size_t>(entry->second);
    const bool unused_before = vocabulary.types[before] == Type::kUnused;
    REJECT_IF(!unused && !unused_before, "vocabulary.duplicate", place(vocabulary, "token", id), "a token of its own",
              fmt::format("\"{}\", which is token {} already", token, before));
    if (unused_before) {
      ids.erase(entry);
      ids.emplace(token, static_cast<int32_t>(id));
    }
  }
  return ids;
}

StatusOr<bool> has_byte_fallback(const Vocabulary& vocabulary) {
  const auto count = static_cast<size_t>(std::count(vocabulary.types.begin(), vocabulary.types.end(), Type::kByte));
  REJECT_IF(count != 0 && count != kByteTokens, "vocabulary.byte_count", vocabulary.source, "256 byte tokens or none",
            count);
  return count != 0;
}

void append_string(std::string* out, std::string_view text) {
  *out += '"';
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      *out += '\\';
      *out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      *out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else {
      *out += c;
    }
  }
  *out += '"';
}

std::string quoted(std::string_view text) {
  std::string out;
  append_string(&out, text);
  return out;
}

void append_vocab(std::string* out, const Vocabulary& vocabulary, const Ids& ids) {
  *out += "\"vocab\":{";
  const size_t start = out->size();
  for (size_t id = 0; id < vocabulary.tokens.size(); ++id) {
    const auto entry = ids.find(vocabulary.tokens[id]);
    if (entry == ids.end() || static_cast<size_t>(entry->second) != id) continue;
    if (out->size() > start) *out += ',';
    append_string(out, vocabulary.tokens[id]);
    *out += ':';
    *out += std::to_string(id);
  }
  *out += '}';
}

void append_added_tokens(std::string* out, const Vocabulary& vocabulary, const Ids& ids) {
  *out += "\"added_tokens\":[";
  const size_t start = out->size();
  for (size_t id = 0; id < vocabulary.tokens.size(); ++id) {
    const Type type = vocabulary.types[id];
    const bool special = type == Type::kControl || (type == Type::kUnknown && vocabulary.kind == Kind::kSentencePiece);
    if (!special && type != Type::kUserDefined) continue;
    if (!ids.contains(vocabulary.tokens[id])) continue;
    if (out->size() > start) *out += ',';
    *out += fmt::format(
        "{{\"id\":{},\"content\":{},\"single_word\":false,\"lstrip\":false,\"rstrip\":false,"
        "\"normalized\":false,\"special\":{}}}",
        id, quoted(vocabulary.tokens[id]), special);
  }
  *out += ']';
}

// "left right" of a byte-level vocabulary: neither side holds a space, and both and their sum are tokens.
Status append_merge(std::string* out, const Vocabulary& vocabulary, const Ids& ids, size_t index) {
  const std::string& merge = vocabulary.merges[index];
  const size_t space = merge.find(' ');
  const bool two_parts = space != std::string::npos && space > 0 && space + 1 < merge.size() &&
                         merge.find(' ', space + 1) == std::string::npos;
  REJECT_IF(!two_parts, "vocabulary.merge", place(vocabulary, "merge", index), "two tokens with one space between",
            merge);
  const std::string left = merge.substr(0, space);
  const std::string right = merge.substr(space + 1);
  for (const std::string& token : {left, right, left + right}) {
    REJECT_IF(!ids.contains(token), "vocabulary.merge_token", place(vocabulary, "merge", index),
              "tokens of the vocabulary", token);
  }
  if (index > 0) *out += ',';
  *out += fmt::format("[{},{}]", quoted(left), quoted(right));
  return absl::OkStatus();
}

StatusOr<std::string> bpe_json(const Vocabulary& vocabulary) {
  TRY(const Ids ids, index_tokens(vocabulary));
  const PreTokenizer* pre = find_pre_tokenizer(vocabulary.pre_tokenizer);
  REJECT_IF(pre == nullptr, "vocabulary.pre_tokenizer", fmt::format("{}, tokenizer.ggml.pre", vocabulary.source),
            "the name of a known pre-tokenizer", fmt::format("\"{}\"", vocabulary.pre_tokenizer));
  std::string out = "{\"version\":\"1.0\",\"truncation\":null,\"padding\":null,";
  append_added_tokens(&out, vocabulary, ids);
  out += fmt::format(
      ",\"normalizer\":{},\"pre_tokenizer\":{},\"post_processor\":null,"
      "\"decoder\":{{\"type\":\"ByteLevel\",\"add_prefix_space\":true,\"trim_offsets\":true,\"use_regex\":true}},"
      "\"model\":{{\"type\":\"BPE\",\"dropout\":null,\"unk_token\":null,\"continuing_subword_prefix\":null,"
      "\"end_of_word_suffix\":null,\"fuse_unk\":false,\"byte_fallback\":false,\"ignore_merges\":{},",
      pre->normalizer, pre->splits, pre->ignore_merges);
  append_vocab(&out, vocabulary, ids);
  out += ",\"merges\":[";
  for (size_t i = 0; i < vocabulary.merges.size(); ++i) TRY(append_merge(&out, vocabulary, ids, i));
  return out + "]}}";
}

struct Merge {
  std::string_view left;
  std::string_view right;
  float score = 0;
  int32_t left_id = 0;
  int32_t right_id = 0;
  int32_t left_characters = 0;
  int32_t right_characters = 0;
};

int32_t characters(std::string_view text) {
  return static_cast<int32_t>(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

bool merges_into(Type type) { return type == Type::kNormal || type == Type::kUnused; }

// Every way to make the piece `id` of two pieces, in the order of their ids.
void append_splits(std::vector<Merge>* merges, const Vocabulary& vocabulary, const Ids& ids, size_t id) {
  const std::string_view piece = vocabulary.tokens[id];
  const size_t start = merges->size();
  for (size_t at = 1; at < piece.size(); ++at) {
    if ((piece[at] & 0xC0) == 0x80) continue;  // not between characters
    const auto left = ids.find(piece.substr(0, at));
    if (left == ids.end()) continue;
    const auto right = ids.find(piece.substr(at));
    if (right == ids.end()) continue;
    merges->push_back({.left = left->first,
                       .right = right->first,
                       .score = vocabulary.scores[id],
                       .left_id = left->second,
                       .right_id = right->second,
                       .left_characters = characters(left->first),
                       .right_characters = characters(right->first)});
  }
  std::sort(merges->begin() + static_cast<std::ptrdiff_t>(start), merges->end(), [](const Merge& a, const Merge& b) {
    return std::pair(a.left_id, a.right_id) < std::pair(b.left_id, b.right_id);
  });
}

// Best score first; of equal scores the longer left part, then the longer right part, then the order above.
std::vector<Merge> merges_of(const Vocabulary& vocabulary, const Ids& ids) {
  std::vector<Merge> merges;
  for (size_t id = 0; id < vocabulary.tokens.size(); ++id) {
    if (merges_into(vocabulary.types[id])) append_splits(&merges, vocabulary, ids, id);
  }
  std::stable_sort(merges.begin(), merges.end(), [](const Merge& a, const Merge& b) {
    return std::tuple(-a.score, -a.left_characters, -a.right_characters) <
           std::tuple(-b.score, -b.left_characters, -b.right_characters);
  });
  return merges;
}

// A character without a piece becomes its bytes, or this token when there are none.
StatusOr<std::string> unknown_token(const Vocabulary& vocabulary, bool byte_fallback) {
  const auto count = std::count(vocabulary.types.begin(), vocabulary.types.end(), Type::kUnknown);
  REJECT_IF(count > 1 || (count == 0 && !byte_fallback), "vocabulary.unknown", vocabulary.source,
            "one unknown token, or 256 byte tokens and at most one unknown", count);
  if (count == 0) return std::string("null");
  const auto at =
      std::find(vocabulary.types.begin(), vocabulary.types.end(), Type::kUnknown) - vocabulary.types.begin();
  return quoted(vocabulary.tokens[static_cast<size_t>(at)]);
}

StatusOr<std::string> sentence_piece_json(const Vocabulary& vocabulary) {
  TRY(const Ids ids, index_tokens(vocabulary));
  TRY(const bool byte_fallback, has_byte_fallback(vocabulary));
  TRY(const std::string unknown, unknown_token(vocabulary, byte_fallback));
  constexpr std::string_view kSpaces = R"({"type":"Replace","pattern":{"String":" "},"content":"▁"})";
  constexpr std::string_view kPrefix = R"({"type":"Prepend","prepend":"▁"},)";
  constexpr std::string_view kStrip = R"(,{"type":"Strip","content":" ","start":1,"stop":0})";
  const bool prefixed = vocabulary.add_space_prefix;
  std::string out = "{\"version\":\"1.0\",\"truncation\":null,\"padding\":null,";
  append_added_tokens(&out, vocabulary, ids);
  out += fmt::format(
      ",\"normalizer\":{{\"type\":\"Sequence\",\"normalizers\":[{}{}]}},\"pre_tokenizer\":null,"
      "\"post_processor\":null,\"decoder\":{{\"type\":\"Sequence\",\"decoders\":["
      "{{\"type\":\"Replace\",\"pattern\":{{\"String\":\"▁\"}},\"content\":\" \"}},"
      "{{\"type\":\"ByteFallback\"}},{{\"type\":\"Fuse\"}}{}]}},",
      prefixed ? kPrefix : "", kSpaces, prefixed ? kStrip : "");
  out += fmt::format(
      "\"model\":{{\"type\":\"BPE\",\"dropout\":null,\"unk_token\":{},\"continuing_subword_prefix\":null,"
      "\"end_of_word_suffix\":null,\"fuse_unk\":true,\"byte_fallback\":{},\"ignore_merges\":false,",
      unknown, byte_fallback);
  append_vocab(&out, vocabulary, ids);
  out += ",\"merges\":[";
  bool first = true;
  for (const Merge& merge : merges_of(vocabulary, ids)) {
    if (!first) out += ',';
    first = false;
    out += fmt::format("[{},{}]", quoted(merge.left), quoted(merge.right));
  }
  return out + "]}}";
}

}  // namespace

StatusOr<std::string> tokenizer_json_of(const Vocabulary& vocabulary) {
  TRY(check_counts(vocabulary));
  return vocabulary.kind == Kind::kByteLevelBpe ? bpe_json(vocabulary) : sentence_piece_json(vocabulary);
}

bool adds_bos_by_default(const Vocabulary& vocabulary) {
  if (vocabulary.kind == Kind::kSentencePiece) return true;
  const PreTokenizer* pre = find_pre_tokenizer(vocabulary.pre_tokenizer);
  return pre != nullptr && pre->add_bos;
}

}  // namespace motley::text
