#include "ingest/text_check.h"

#include "ingest/tokenizer_scan.h"

namespace motley::ingest {
namespace {

Status check_tokenizer(const model::TokenizerJson& tokenizer, uint64_t rows, std::vector<std::string>& notes) {
  TRY(const TokenizerFacts facts, scan_tokenizer(tokenizer.json, tokenizer.source));
  const auto beyond = [&](int64_t id) { return static_cast<uint64_t>(id) >= rows; };
  REJECT_IF(facts.highest_id && beyond(*facts.highest_id), "text.tokenizer_ids", tokenizer.source,
            fmt::format("ids below {}, the rows of the embedding", rows), *facts.highest_id);
  for (const auto& [content, id] : facts.added_tokens)
    if (beyond(id))
      notes.push_back(fmt::format("added token {} has id {}, beyond the embedding's {} rows", content, id, rows));
  return absl::OkStatus();
}

}  // namespace

Status check_text(const model::TextAssets& text, uint64_t rows, std::vector<std::string>& notes) {
  if (const auto* tokenizer = std::get_if<model::TokenizerJson>(&text.tokenizer))
    TRY(check_tokenizer(*tokenizer, rows, notes));
  if (const auto* vocabulary = std::get_if<model::Vocabulary>(&text.tokenizer))
    REJECT_IF(vocabulary->tokens.size() > rows, "text.vocabulary", vocabulary->source,
              fmt::format("at most {} tokens, the rows of the embedding", rows), vocabulary->tokens.size());
  for (const model::EndToken& end : text.end_tokens)
    REJECT_IF(static_cast<uint64_t>(end.id) >= rows, "text.end_token", end.source,
              fmt::format("an id below {}, the rows of the embedding", rows), end.id);
  return absl::OkStatus();
}

}  // namespace motley::ingest
