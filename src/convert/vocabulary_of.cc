#include "convert/vocabulary_of.h"

#include <algorithm>

#include "base/json.h"
#include "text/pre_tokenizers.h"

namespace motley::convert {
namespace {

using model::Vocabulary;
using Type = Vocabulary::TokenType;

// Two descriptions of one thing are equal when their members are, in whatever order; offsets do not change ids.
std::string canonical(const Json& json) {
  if (const Json::Array* list = json.as_array()) {
    std::string out = "[";
    for (const Json& item : *list) out += canonical(item) + ",";
    return out + "]";
  }
  const Json::Object* object = json.as_object();
  if (object == nullptr) return json.dump();
  std::vector<std::string> members;
  for (const auto& [key, value] : *object)
    if (key != "trim_offsets") members.push_back(fmt::format("{}:{},", key, canonical(value)));
  std::sort(members.begin(), members.end());
  std::string out = "{";
  for (const std::string& member : members) out += member;
  return out + "}";
}

std::string canonical_text(std::string_view text) {
  const auto json = parse_json(text, "pre-tokenizer");
  return json.ok() ? canonical(*json) : "";
}

std::string canonical_member(const Json& json, std::string_view key) {
  const Json* value = json.find(key);
  return value == nullptr ? "null" : canonical(*value);
}

// The best-known name first: gpt-2 and llama-bpe before their many namesakes.
const text::PreTokenizer* pre_tokenizer_of(const Json& tokenizer) {
  const Json* model = tokenizer.find_value("model");
  const Json* flag = model == nullptr ? nullptr : model->find_value("ignore_merges");
  const bool ignore_merges = flag != nullptr && flag->as_bool() == true;
  const std::string splits = canonical_member(tokenizer, "pre_tokenizer");
  const std::string normalizer = canonical_member(tokenizer, "normalizer");
  for (const text::PreTokenizer& known : text::pre_tokenizers())
    if (known.ignore_merges == ignore_merges && canonical_text(known.splits) == splits &&
        canonical_text(known.normalizer) == normalizer)
      return &known;
  return nullptr;
}

std::string merge_text(const Json& merge) {
  if (const std::string* text = merge.as_string()) return *text;
  const Json::Array* pair = merge.as_array();
  const bool two = pair != nullptr && pair->size() == 2 && (*pair)[0].as_string() && (*pair)[1].as_string();
  return two ? fmt::format("{} {}", *(*pair)[0].as_string(), *(*pair)[1].as_string()) : "";
}

void set_token(Vocabulary& out, const Json& id, const std::string& text, Type type) {
  const auto at = id.as_uint();
  if (!at || *at >= out.tokens.size()) return;
  out.tokens[*at] = text;
  out.types[*at] = type;
}

void take_tokens(const Json& tokenizer, const Json& model, Vocabulary& out) {
  const Json* vocab = model.find_value("vocab");
  if (vocab != nullptr && vocab->as_object() != nullptr)
    for (const auto& [text, id] : *vocab->as_object()) set_token(out, id, text, Type::kNormal);
  const Json* added = tokenizer.find_value("added_tokens");
  if (added == nullptr || added->as_array() == nullptr) return;
  for (const Json& token : *added->as_array()) {
    const Json* content = token.find_value("content");
    const Json* id = token.find_value("id");
    const Json* special = token.find_value("special");
    if (content == nullptr || content->as_string() == nullptr || id == nullptr) continue;
    const bool control = special != nullptr && special->as_bool() == true;
    set_token(out, *id, *content->as_string(), control ? Type::kControl : Type::kUserDefined);
  }
}

// Rows of the embedding that no token has, as converters name them.
void name_padding(Vocabulary& out) {
  for (size_t id = 0; id < out.tokens.size(); ++id)
    if (out.tokens[id].empty()) out.tokens[id] = fmt::format("[PAD{}]", id);
}

void take_merges(const Json& model, Vocabulary& out) {
  const Json* merges = model.find_value("merges");
  if (merges == nullptr || merges->as_array() == nullptr) return;
  for (const Json& merge : *merges->as_array()) out.merges.push_back(merge_text(merge));
}

bool says_prepend(const Json& tokenizer) {
  return canonical_member(tokenizer, "normalizer").find("\"Prepend\"") != std::string::npos ||
         canonical_member(tokenizer, "pre_tokenizer").find("\"first\"") != std::string::npos ||
         canonical_member(tokenizer, "pre_tokenizer").find("\"always\"") != std::string::npos;
}

// SentencePiece merges the pair whose piece has the best score: the rank of a piece's first merge says the same.
void scores_of_merges(const Json& tokenizer, const Json& model, Vocabulary& out) {
  std::map<std::string, float, std::less<>> scores;
  for (size_t rank = 0; rank < out.merges.size(); ++rank) {
    std::string piece = out.merges[rank];
    piece.erase(std::remove(piece.begin(), piece.end(), ' '), piece.end());
    scores.emplace(std::move(piece), -static_cast<float>(rank + 1));
  }
  const Json* unknown = model.find_value("unk_token");
  for (size_t id = 0; id < out.tokens.size(); ++id) {
    const std::string& token = out.tokens[id];
    const auto found = scores.find(token);
    out.scores.push_back(found == scores.end() ? 0 : found->second);
    const bool byte = token.size() == 6 && token.starts_with("<0x") && token.ends_with('>');
    if (byte) out.types[id] = Type::kByte;
    if (unknown != nullptr && unknown->as_string() != nullptr && *unknown->as_string() == token)
      out.types[id] = Type::kUnknown;
  }
  out.merges.clear();
  out.kind = Vocabulary::Kind::kSentencePiece;
  out.add_space_prefix = says_prepend(tokenizer);
}

}  // namespace

StatusOr<std::optional<Vocabulary>> vocabulary_of(const model::Model& model, std::vector<std::string>& notes) {
  if (const auto* made = std::get_if<Vocabulary>(&model.text.tokenizer)) return std::optional(*made);
  const auto* source = std::get_if<model::TokenizerJson>(&model.text.tokenizer);
  if (source == nullptr) {
    notes.emplace_back("the source has no tokenizer, so the target has none");
    return std::optional<Vocabulary>();
  }
  TRY(const Json tokenizer, parse_json(source->json, source->source));
  const Json* bpe = tokenizer.find_value("model");
  const Json* fallback = bpe == nullptr ? nullptr : bpe->find_value("byte_fallback");
  const bool sentence_piece = fallback != nullptr && fallback->as_bool() == true;
  const text::PreTokenizer* pre = pre_tokenizer_of(tokenizer);
  if (bpe == nullptr || bpe->find_value("merges") == nullptr || (!sentence_piece && pre == nullptr)) {
    notes.emplace_back("the target has no tokenizer: GGUF has no name for how this one splits texts");
    return std::optional<Vocabulary>();
  }
  Vocabulary out;
  out.source = source->source;
  out.tokens.resize(model.spec.vocabulary);
  out.types.resize(model.spec.vocabulary, Type::kUnused);
  take_tokens(tokenizer, *bpe, out);
  take_merges(*bpe, out);
  if (sentence_piece) scores_of_merges(tokenizer, *bpe, out);
  if (!sentence_piece) out.pre_tokenizer = pre->name;
  name_padding(out);
  return std::optional(std::move(out));
}

}  // namespace motley::convert
