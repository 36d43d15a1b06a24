#include "text/tokenizer.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <variant>

#include "text/tokenizer_state.h"
#include "text/utf8.h"
#include "text/vocabulary.h"

namespace motley::text {
namespace {

struct Description {
  std::string json;
  std::string source;
};

StatusOr<Description> describe(const model::TextAssets& assets) {
  if (const auto* file = std::get_if<model::TokenizerJson>(&assets.tokenizer)) {
    return Description{.json = file->json, .source = file->source};
  }
  if (const auto* vocabulary = std::get_if<model::Vocabulary>(&assets.tokenizer)) {
    TRY(std::string json, tokenizer_json_of(*vocabulary));
    return Description{.json = std::move(json), .source = vocabulary->source};
  }
  return absl::NotFoundError("the checkpoint holds no tokenizer: expected a tokenizer.json or a vocabulary");
}

StatusOr<std::vector<int32_t>> raw_encode(const MotleyTokenizer* handle, std::string_view text, uint32_t flags) {
  MotleyIds ids{};
  MotleyBytes error{};
  if (motley_tokenizer_encode(handle, borrow(text), flags, &ids, &error) != MOTLEY_OK) {
    return absl::InvalidArgumentError(take(error));
  }
  return take(ids);
}

// What the description's post-processor puts before and after a text. Seen from outside: the ids of a text with it,
// less the ids without.
Status find_affixes(const MotleyTokenizer* handle, std::vector<int32_t>* prefix, std::vector<int32_t>* suffix) {
  constexpr std::string_view kProbe = "a";
  TRY(const auto plain, raw_encode(handle, kProbe, 0));
  TRY(const auto whole, raw_encode(handle, kProbe, MOTLEY_POST_PROCESS));
  const auto at = std::search(whole.begin(), whole.end(), plain.begin(), plain.end());
  if (at == whole.end()) return absl::OkStatus();
  prefix->assign(whole.begin(), at);
  suffix->assign(at + static_cast<std::ptrdiff_t>(plain.size()), whole.end());
  return absl::OkStatus();
}

std::optional<int32_t> special_id(const MotleyTokenizer* handle, const std::optional<std::string>& token) {
  if (!token) return std::nullopt;
  const int64_t id = motley_tokenizer_id_of(handle, borrow(*token));
  return id < 0 ? std::nullopt : std::optional<int32_t>(static_cast<int32_t>(id));
}

enum class Side { kBefore, kAfter };

// Makes `ids` hold `id` or not, as `wanted` says; nullopt leaves it alone.
void want(std::vector<int32_t>* ids, std::optional<int32_t> id, std::optional<bool> wanted, Side side) {
  if (!id || !wanted) return;
  const bool there = std::find(ids->begin(), ids->end(), *id) != ids->end();
  if (there && !*wanted) std::erase(*ids, *id);
  if (!there && *wanted) ids->insert(side == Side::kBefore ? ids->begin() : ids->end(), *id);
}

// A vocabulary has no post-processor: its kind says whether texts begin with BOS.
std::optional<bool> default_add_bos(const model::TextAssets& assets) {
  const auto* vocabulary = std::get_if<model::Vocabulary>(&assets.tokenizer);
  if (assets.add_bos || !vocabulary) return assets.add_bos;
  return adds_bos_by_default(*vocabulary);
}

}  // namespace

StatusOr<Tokenizer> Tokenizer::load(const model::TextAssets& assets) {
  TRY(Description description, describe(assets));
  auto state = std::make_shared<State>();
  state->source = std::move(description.source);
  MotleyBytes error{};
  if (motley_tokenizer_load(borrow(description.json), &state->handle, &error) != MOTLEY_OK) {
    const std::string reason = take(error);
    REJECT_IF(true, "tokenizer.json", state->source, "a tokenizer description", reason);
    return absl::InternalError(reason);
  }
  const int64_t highest = motley_tokenizer_highest_id(state->handle);
  REJECT_IF(highest > std::numeric_limits<int32_t>::max(), "tokenizer.highest_id", state->source, "ids below 2^31",
            highest);
  if (Status status = find_affixes(state->handle, &state->prefix, &state->suffix); !status.ok()) {
    return annotate(status, state->source);
  }
  const auto bos = assets.bos_id ? assets.bos_id : special_id(state->handle, assets.bos_token);
  want(&state->prefix, bos, default_add_bos(assets), Side::kBefore);
  want(&state->suffix, special_id(state->handle, assets.eos_token), assets.add_eos, Side::kAfter);
  return Tokenizer(std::move(state));
}

StatusOr<std::vector<int32_t>> Tokenizer::encode(std::string_view text, SpecialInText special, Affixes affixes) const {
  if (const auto offset = first_invalid_utf8(text)) {
    REJECT_IF(true, "text.utf8", fmt::format("text, byte {}", *offset), "UTF-8",
              fmt::format("byte 0x{:02X}", static_cast<uint8_t>(text[*offset])));
  }
  TRY(std::vector<int32_t> ids,
      raw_encode(state_->handle, text, special == SpecialInText::kParse ? MOTLEY_PARSE_SPECIAL : 0));
  if (affixes == Affixes::kNone) return ids;
  const auto& prefix = state_->prefix;
  const bool there = special == SpecialInText::kParse && ids.size() >= prefix.size() &&
                     std::equal(prefix.begin(), prefix.end(), ids.begin());
  if (!there) ids.insert(ids.begin(), prefix.begin(), prefix.end());
  ids.insert(ids.end(), state_->suffix.begin(), state_->suffix.end());
  return ids;
}

StatusOr<std::string> Tokenizer::decode(std::span<const int32_t> ids, SpecialTokens special) const {
  std::vector<uint32_t> unsigned_ids;
  unsigned_ids.reserve(ids.size());
  for (const int32_t id : ids) {
    REJECT_IF(id < 0, "text.id", "token id", "0 or more", id);
    unsigned_ids.push_back(static_cast<uint32_t>(id));
  }
  MotleyBytes text{};
  MotleyBytes error{};
  const int32_t skip = special == SpecialTokens::kSkip ? 1 : 0;
  if (motley_tokenizer_decode(state_->handle, unsigned_ids.data(), unsigned_ids.size(), skip, &text, &error) !=
      MOTLEY_OK) {
    return annotate(absl::InvalidArgumentError(take(error)), state_->source);
  }
  return take(text);
}

int64_t Tokenizer::size() const { return static_cast<int64_t>(motley_tokenizer_size(state_->handle)); }

int32_t Tokenizer::highest_id() const { return static_cast<int32_t>(motley_tokenizer_highest_id(state_->handle)); }

Status Tokenizer::check_rows(int64_t rows) const {
  REJECT_IF(highest_id() >= rows, "tokenizer.rows", state_->source,
            fmt::format("ids below the embedding's {} rows", rows),
            fmt::format("id {} (the tokenizer of another model?)", highest_id()));
  return absl::OkStatus();
}

std::optional<int32_t> Tokenizer::id_of(std::string_view token) const {
  return special_id(state_->handle, std::string(token));
}

std::optional<std::string> Tokenizer::token(int32_t id) const {
  MotleyBytes bytes{};
  if (id < 0 || motley_tokenizer_token(state_->handle, static_cast<uint32_t>(id), &bytes) == 0) return std::nullopt;
  return take(bytes);
}

std::optional<std::string> Tokenizer::token_bytes(int32_t id) const {
  MotleyBytes bytes{};
  if (id < 0 || motley_tokenizer_token_bytes(state_->handle, static_cast<uint32_t>(id), &bytes) == 0)
    return std::nullopt;
  return take(bytes);
}

bool Tokenizer::is_special(int32_t id) const {
  return id >= 0 && motley_tokenizer_is_special(state_->handle, static_cast<uint32_t>(id)) != 0;
}

const std::vector<int32_t>& Tokenizer::prefix() const { return state_->prefix; }
const std::vector<int32_t>& Tokenizer::suffix() const { return state_->suffix; }

}  // namespace motley::text
