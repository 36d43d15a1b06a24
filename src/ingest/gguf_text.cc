#include "ingest/gguf_text.h"

#include <algorithm>
#include <array>

namespace motley::ingest {
namespace {

using model::Vocabulary;

constexpr std::string_view kTokens = "tokenizer.ggml.tokens";
constexpr std::string_view kTemplate = "tokenizer.chat_template";

// Control tokens that end a turn or a document in the chat formats people publish (llama.cpp, llama-vocab.cpp: the
// texts that it looks for when a file names too few ids). Conversions often name only one of two.
constexpr std::array<std::string_view, 17> kTurnEnds = {"<|im_end|>",
                                                        "<|eot_id|>",
                                                        "<|eom_id|>",
                                                        "<|end|>",
                                                        "<end_of_turn>",
                                                        "<|endoftext|>",
                                                        "<|end_of_text|>",
                                                        "<|end▁of▁sentence|>",
                                                        "<｜end▁of▁sentence｜>",
                                                        "<end_of_utterance>",
                                                        "<|return|>",
                                                        "<|call|>",
                                                        "< EOT >",
                                                        "_<EOT>",
                                                        "<EOT>",
                                                        "[EOT]",
                                                        "<|eot|>"};

// Byte-level vocabularies whose own tokenizer puts BOS first when the file does not say (llama.cpp, same place).
constexpr std::array<std::string_view, 3> kBosByDefault = {"llama3", "llama-v3", "llama-bpe"};

class TextReader {
 public:
  TextReader(const GgufFile& file, Container& out) : file_(file), out_(out) {}

  Status read() {
    TRY(read_vocabulary());
    TRY(read_specials());
    TRY(read_templates());
    add_turn_ends();
    return read_sampling();
  }

 private:
  std::string where(std::string_view key) const { return fmt::format("{} key {}", file_.source->name(), key); }

  StatusOr<std::optional<std::string>> text(std::string_view key) const {
    const Json* value = file_.keys.find_value(key);
    if (value == nullptr) return std::nullopt;
    REJECT_IF(value->as_string() == nullptr, "gguf_text.string", where(key), "a string", value->kind_name());
    return value->as_string() == nullptr ? std::nullopt : std::optional(*value->as_string());
  }

  StatusOr<std::optional<bool>> flag(std::string_view key) const {
    const Json* value = file_.keys.find_value(key);
    if (value == nullptr) return std::nullopt;
    REJECT_IF(!value->as_bool(), "gguf_text.flag", where(key), "a bool", value->kind_name());
    return value->as_bool();
  }

  // A token id, which must be one of the vocabulary's.
  StatusOr<std::optional<int32_t>> id(std::string_view key) const {
    const Json* value = file_.keys.find_value(key);
    if (value == nullptr || value->as_int() == -1 || value->as_uint() == UINT32_MAX)
      return std::nullopt;  // "none" in old files
    const auto number = value->as_uint();
    REJECT_IF(!number || *number >= tokens().size(), "gguf_text.id", where(key),
              fmt::format("an id below {}, the length of the vocabulary", tokens().size()), value->dump());
    if (!number || *number >= tokens().size()) return std::nullopt;
    return static_cast<int32_t>(*number);
  }

  const std::vector<std::string>& tokens() const {
    static const std::vector<std::string> none;
    const auto* vocabulary = std::get_if<Vocabulary>(&out_.text.tokenizer);
    return vocabulary != nullptr ? vocabulary->tokens : none;
  }

  StatusOr<Vocabulary::Kind> read_kind(const std::string& name) const {
    if (name == "gpt2") return Vocabulary::Kind::kByteLevelBpe;
    REJECT_IF(name != "llama", "gguf_text.kind", where("tokenizer.ggml.model"),
              "llama (SentencePiece) or gpt2 (byte-level BPE)", fmt::format("\"{}\"", name));
    return Vocabulary::Kind::kSentencePiece;
  }

  Status read_types(Vocabulary& vocabulary) const {
    constexpr std::string_view kKey = "tokenizer.ggml.token_type";
    if (!file_.arrays.contains(kKey)) {
      vocabulary.types.assign(vocabulary.tokens.size(), Vocabulary::TokenType::kNormal);
      out_.notes.push_back(fmt::format("no {}: every token counts as a normal one", kKey));
      return absl::OkStatus();
    }
    TRY(const auto types, read_ints(file_, kKey));
    REJECT_IF(types.size() != vocabulary.tokens.size(), "gguf_text.type_count", where(kKey),
              fmt::format("{} types, one for each token", vocabulary.tokens.size()), types.size());
    for (const int32_t type : types) {
      REJECT_IF(type < 1 || type > 6, "gguf_text.type", where(kKey), "token types from 1 to 6", type);
      vocabulary.types.push_back(static_cast<Vocabulary::TokenType>(type));
    }
    return absl::OkStatus();
  }

  // SentencePiece merges by score, byte-level BPE by its list of merges.
  Status read_ranks(Vocabulary& vocabulary) const {
    if (vocabulary.kind == Vocabulary::Kind::kSentencePiece) {
      TRY(vocabulary.scores, read_floats(file_, "tokenizer.ggml.scores"));
      REJECT_IF(vocabulary.scores.size() != vocabulary.tokens.size(), "gguf_text.scores",
                where("tokenizer.ggml.scores"), fmt::format("{} scores, one for each token", vocabulary.tokens.size()),
                vocabulary.scores.size());
      return absl::OkStatus();
    }
    REJECT_IF(!file_.arrays.contains("tokenizer.ggml.merges"), "gguf_text.merges", where("tokenizer.ggml.merges"),
              "the merges of a byte-level BPE", "no such key");
    TRY(vocabulary.merges, read_strings(file_, "tokenizer.ggml.merges"));
    TRY(const auto pre, text("tokenizer.ggml.pre"));
    vocabulary.pre_tokenizer = pre.value_or("");
    return absl::OkStatus();
  }

  Status read_vocabulary() {
    TRY(const auto kind, text("tokenizer.ggml.model"));
    if (!kind || *kind == "none") {
      out_.notes.emplace_back("no tokenizer in this file");
      return absl::OkStatus();
    }
    Vocabulary vocabulary;
    TRY(vocabulary.kind, read_kind(*kind));
    vocabulary.source = file_.source->name();
    REJECT_IF(!file_.arrays.contains(kTokens), "gguf_text.tokens", where(kTokens), "the tokens of the vocabulary",
              "no such key");
    TRY(vocabulary.tokens, read_strings(file_, kTokens));
    TRY(read_types(vocabulary));
    TRY(read_ranks(vocabulary));
    TRY(const auto space, flag("tokenizer.ggml.add_space_prefix"));
    vocabulary.add_space_prefix = space.value_or(true);
    out_.text.tokenizer = std::move(vocabulary);
    return absl::OkStatus();
  }

  StatusOr<std::optional<std::string>> special(std::string_view key) const {
    TRY(const auto token, id(key));
    return token ? std::optional(tokens()[static_cast<size_t>(*token)]) : std::nullopt;
  }

  bool bos_by_default() const {
    const auto* vocabulary = std::get_if<Vocabulary>(&out_.text.tokenizer);
    if (vocabulary == nullptr) return false;
    return vocabulary->kind == Vocabulary::Kind::kSentencePiece ||
           std::find(kBosByDefault.begin(), kBosByDefault.end(), vocabulary->pre_tokenizer) != kBosByDefault.end();
  }

  Status read_specials() {
    model::TextAssets& assets = out_.text;
    TRY(assets.bos_id, id("tokenizer.ggml.bos_token_id"));
    TRY(assets.bos_token, special("tokenizer.ggml.bos_token_id"));
    TRY(assets.eos_token, special("tokenizer.ggml.eos_token_id"));
    TRY(assets.pad_token, special("tokenizer.ggml.padding_token_id"));
    TRY(assets.unk_token, special("tokenizer.ggml.unknown_token_id"));
    TRY(const auto add_bos, flag("tokenizer.ggml.add_bos_token"));
    TRY(assets.add_eos, flag("tokenizer.ggml.add_eos_token"));
    assets.add_bos = add_bos.value_or(bos_by_default());
    for (const std::string_view key :
         {"tokenizer.ggml.eos_token_id", "tokenizer.ggml.eot_token_id", "tokenizer.ggml.eom_token_id"}) {
      TRY(const auto token, id(key));
      if (token) assets.end_tokens.push_back({.id = *token, .source = where(key)});
    }
    return absl::OkStatus();
  }

  Status read_templates() {
    for (const auto& [key, value] : *file_.keys.as_object()) {
      if (!key.starts_with(kTemplate) || key == "tokenizer.chat_templates") continue;
      const std::string name = key == kTemplate ? "default" : key.substr(std::min(key.size(), kTemplate.size() + 1));
      TRY(const auto source, text(key));
      if (source) out_.text.chat_templates[name] = *source;
    }
    if (!out_.text.chat_templates.empty()) out_.text.chat_template_source = where(kTemplate);
    return absl::OkStatus();
  }

  void add_turn_ends() {
    std::vector<model::EndToken>& ends = out_.text.end_tokens;
    const auto* vocabulary = std::get_if<Vocabulary>(&out_.text.tokenizer);
    if (vocabulary == nullptr) return;
    for (size_t i = 0; i < vocabulary->tokens.size(); ++i) {
      const auto type = vocabulary->types[i];
      if (type != Vocabulary::TokenType::kControl && type != Vocabulary::TokenType::kUserDefined) continue;
      if (std::find(kTurnEnds.begin(), kTurnEnds.end(), vocabulary->tokens[i]) == kTurnEnds.end()) continue;
      const auto token = static_cast<int32_t>(i);
      if (std::any_of(ends.begin(), ends.end(), [&](const auto& end) { return end.id == token; })) continue;
      ends.push_back({.id = token, .source = fmt::format("{} token {}", file_.source->name(), vocabulary->tokens[i])});
    }
  }

  StatusOr<std::optional<double>> sampling_number(std::string_view name) const {
    const std::string key = fmt::format("general.sampling.{}", name);
    const Json* value = file_.keys.find_value(key);
    if (value == nullptr) return std::nullopt;
    REJECT_IF(!value->as_double(), "gguf_text.sampling", where(key), "a number", value->kind_name());
    return value->as_double();
  }

  Status read_sampling() {
    model::GenerationDefaults& defaults = out_.generation;
    TRY(defaults.temperature, sampling_number("temp"));
    TRY(defaults.top_p, sampling_number("top_p"));
    TRY(defaults.min_p, sampling_number("min_p"));
    TRY(defaults.repetition_penalty, sampling_number("penalty_repeat"));
    TRY(const auto top_k, sampling_number("top_k"));
    if (top_k) defaults.top_k = static_cast<int64_t>(std::clamp(*top_k, 0.0, 1e9));
    if (defaults.temperature || defaults.top_p || defaults.min_p || defaults.top_k || defaults.repetition_penalty)
      defaults.source = where("general.sampling");
    return absl::OkStatus();
  }

  const GgufFile& file_;
  Container& out_;
};

}  // namespace

Status read_gguf_text(const GgufFile& file, Container& container) { return TextReader(file, container).read(); }

}  // namespace motley::ingest
