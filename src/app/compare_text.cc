#include "app/compare_text.h"

#include <algorithm>

#include "app/built_in_text.h"
#include "app/exit_status.h"
#include "app/loaded_model.h"
#include "app/logits_stream.h"
#include "app/prompt_input.h"
#include "base/memory.h"

namespace motley::app {
namespace {

// Enough for figures that hardly move any more, and a minute for a model of a few billion weights.
constexpr uint32_t kDefaultTokens = 512;
constexpr uint32_t kDefaultWindowTokens = 512;

using Ids = std::vector<int32_t>;

// nullopt when the checkpoint has none.
StatusOr<std::optional<text::Tokenizer>> tokenizer_of(const model::Model& model) {
  auto tokenizer = load_tokenizer(model);
  if (absl::IsNotFound(tokenizer.status())) return std::nullopt;
  TRY(text::Tokenizer loaded, std::move(tokenizer));
  return loaded;
}

StatusOr<Ids> first_ids(const text::Tokenizer& tokenizer, const std::string& text, uint32_t tokens) {
  TRY(Ids ids, tokenizer.encode(text, text::SpecialInText::kAsText, text::Affixes::kNone));
  ids.resize(std::min<size_t>(ids.size(), tokens));
  return ids;
}

Status check_same(const Ids& a, const Ids& b, const std::string& path_b) {
  const auto [differs_a, differs_b] = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
  const auto shown = [](Ids::const_iterator id, const Ids& ids) {
    return id == ids.end() ? std::string("the end") : fmt::format("id {}", *id);
  };
  REJECT_IF(differs_a != a.end() || differs_b != b.end(), "app.compare_ids", fmt::format("{} tokenizer", path_b),
            fmt::format("{} as token {} of the text, like A's", shown(differs_a, a), differs_a - a.begin()),
            shown(differs_b, b));
  return absl::OkStatus();
}

StatusOr<std::string> text_of(const TextChoice& choice) {
  if (!choice.file) return std::string(built_in_text());
  return read_text(*choice.file);
}

struct TextIds {
  Ids prefix, ids;
};

// Leaves the tokenizer in `into` for whoever shows tokens.
StatusOr<TextIds> ids_of_text(const TextChoice& choice, const model::Model& a, const model::Model& b,
                              ComparedText& into) {
  TRY(const std::string text, text_of(choice));
  TRY(into.tokenizer, tokenizer_of(a));
  TRY(const auto tokenizer_b, tokenizer_of(b));
  const uint32_t tokens = choice.tokens.value_or(kDefaultTokens);
  const bool both = into.tokenizer && tokenizer_b;
  if (!into.tokenizer) into.tokenizer = tokenizer_b;
  REJECT_IF(!into.tokenizer, "app.compare_tokenizer", a.provenance.path,
            "a tokenizer here or in the other checkpoint, or --ids", "none");
  TRY(Ids ids, first_ids(*into.tokenizer, text, tokens));
  if (both) {
    TRY(const Ids ids_b, first_ids(*tokenizer_b, text, tokens));
    TRY(check_same(ids, ids_b, b.provenance.path));
  }
  REJECT_IF(ids.empty(), "app.compare_empty", into.name, "at least one token", "none");
  return TextIds{into.tokenizer->prefix(), std::move(ids)};
}

// Ids that were given need no tokenizer, but are shown by one if there is one.
StatusOr<TextIds> ids_as_given(const TextChoice& choice, const model::Model& a, ComparedText& into) {
  TRY(check_ids(choice.ids, a.spec.vocabulary, "--ids"));
  TRY(into.tokenizer, tokenizer_of(a));
  TextIds result{.prefix = {}, .ids = choice.ids};
  result.ids.resize(std::min<size_t>(result.ids.size(), choice.tokens.value_or(UINT32_MAX)));
  return result;
}

StatusOr<uint32_t> window_tokens(const TextChoice& choice, size_t prefix_tokens, const model::Model& a,
                                 const model::Model& b) {
  const uint32_t context = std::min(a.spec.context_tokens, b.spec.context_tokens);
  REJECT_IF(context <= prefix_tokens, "app.compare_context", a.provenance.path,
            fmt::format("a context of more than {} tokens", prefix_tokens), context);
  const uint32_t room = context - static_cast<uint32_t>(prefix_tokens);
  if (!choice.window_tokens) return std::min(kDefaultWindowTokens, room);
  REJECT_IF(*choice.window_tokens > room, "app.compare_window", "--window",
            fmt::format("at most {} (the context, less {} tokens before a text)", room, prefix_tokens),
            *choice.window_tokens);
  return *choice.window_tokens;
}

std::vector<Ids> cut(const TextIds& text, uint32_t tokens) {
  std::vector<Ids> windows;
  for (size_t begin = 0; begin < text.ids.size(); begin += tokens) {
    Ids& window = windows.emplace_back(text.prefix);
    window.insert(window.end(), text.ids.begin() + static_cast<ptrdiff_t>(begin),
                  text.ids.begin() + static_cast<ptrdiff_t>(std::min<size_t>(begin + tokens, text.ids.size())));
  }
  return windows;
}

}  // namespace

StatusOr<ComparedText> read_compared_text(const TextChoice& choice, const model::Model& a, const model::Model& b) {
  if (choice.tokens == 0u) return usage_error("--tokens: expected at least 1, got 0");
  if (choice.window_tokens == 0u) return usage_error("--window: expected at least 1, got 0");
  REJECT_IF(a.spec.vocabulary != b.spec.vocabulary, "app.compare_vocabulary", b.provenance.path,
            fmt::format("a vocabulary of {} tokens, like A's", a.spec.vocabulary), b.spec.vocabulary);
  ComparedText result;
  const bool given = !choice.ids.empty();
  result.name = given ? "--ids" : choice.file.value_or(std::string(kBuiltInTextName));
  TRY(const TextIds ids, given ? ids_as_given(choice, a, result) : ids_of_text(choice, a, b, result));
  return_free_memory();  // of two vocabularies, before the weights come
  TRY(const uint32_t window, window_tokens(choice, ids.prefix.size(), a, b));
  result.tokens = ids.ids.size();
  result.windows = cut(ids, window);
  return result;
}

}  // namespace motley::app
