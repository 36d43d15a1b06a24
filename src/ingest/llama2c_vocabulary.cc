#include "ingest/llama2c_vocabulary.h"

#include <algorithm>

#include "base/bounded_reader.h"

namespace motley::ingest {
namespace {

using TokenType = model::Vocabulary::TokenType;

constexpr uint64_t kBudgetBytes = 64 << 20;  // 32 thousand pieces take 430 KB
constexpr int32_t kLongestPiece = 1 << 16;
constexpr size_t kFirstByteToken = 3;  // after <unk>, <s>, </s>; llama2.c finds byte b at b + 3
constexpr size_t kByteTokens = 256;
constexpr std::string_view kSpace = "\xe2\x96\x81";  // U+2581; the exporter replaced it by a plain space

std::string with_marked_spaces(std::string_view piece) {
  std::string result;
  for (const char c : piece) c == ' ' ? result += kSpace : result += c;
  return result;
}

TokenType type_of(size_t id) {
  if (id == 0) return TokenType::kUnknown;
  if (id < kFirstByteToken) return TokenType::kControl;
  return id < kFirstByteToken + kByteTokens ? TokenType::kByte : TokenType::kNormal;
}

// The exporter wraps the two control tokens in line breaks so that they print apart.
std::string piece_of(size_t id, const std::string& stored) {
  if (type_of(id) != TokenType::kControl) return with_marked_spaces(stored);
  std::string_view text = stored;
  while (text.starts_with('\n')) text.remove_prefix(1);
  while (text.ends_with('\n')) text.remove_suffix(1);
  return std::string(text);
}

}  // namespace

StatusOr<model::Vocabulary> read_llama2c_vocabulary(const ByteSource& source, uint32_t count) {
  BoundedReader in(source, kBudgetBytes);
  in.enter("the length of the longest piece", "llama2c.cut_vocabulary_header");
  TRY(const auto longest, in.number<int32_t>());
  REJECT_IF(longest < 1 || longest > kLongestPiece, "llama2c.longest_piece", source.name(),
            fmt::format("the length of the longest piece first, 1 to {}", kLongestPiece), longest);
  model::Vocabulary vocabulary;
  vocabulary.kind = model::Vocabulary::Kind::kSentencePiece;
  vocabulary.source = source.name();
  in.enter("as many pieces as the model has", "llama2c.cut_vocabulary");
  for (uint32_t id = 0; id < count; ++id) {
    TRY(const auto score, in.number<float>());
    TRY(const auto size_bytes, in.number<int32_t>());
    REJECT_IF(size_bytes < 0 || size_bytes > longest, "llama2c.piece_length", in.where(),
              fmt::format("a piece of at most {} bytes", longest), size_bytes);
    TRY(const std::string stored, in.text(static_cast<uint64_t>(std::max(size_bytes, 0))));
    vocabulary.tokens.push_back(piece_of(id, stored));
    vocabulary.scores.push_back(score);
    vocabulary.types.push_back(type_of(id));
  }
  REJECT_IF(in.remaining() != 0, "llama2c.vocabulary_size", source.name(),
            fmt::format("{} pieces, as many as the model has", count), fmt::format("{} bytes more", in.remaining()));
  return vocabulary;
}

}  // namespace motley::ingest
