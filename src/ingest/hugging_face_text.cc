#include "ingest/hugging_face_text.h"

#include <algorithm>

#include "ingest/tokenizer_scan.h"

namespace motley::ingest {
namespace {

constexpr uint64_t kConfigBudgetBytes = 4 << 20;       // largest published config.json (hundreds of overrides): 200 KB
constexpr uint64_t kTokenizerBudgetBytes = 128 << 20;  // largest published (Gemma 3): 33 MB
constexpr uint64_t kSmallBudgetBytes = 8 << 20;        // tokenizer_config.json with its added tokens: 1 MB

class TextReader {
 public:
  TextReader(const FileSet& files, Container& out) : files_(files), out_(out) {}

  Status read() {
    TRY(read_tokenizer());
    TRY(tokenizer_config_, read_json_if_present(files_, "tokenizer_config.json", kSmallBudgetBytes));
    TRY(special_tokens_, read_json_if_present(files_, "special_tokens_map.json", kSmallBudgetBytes));
    TRY(read_specials());
    TRY(read_templates());
    TRY(read_generation_config());
    TRY(add_end_ids(&out_.metadata.tree, "config.json"));
    TRY(add_end_ids(out_.metadata.tree.find_value("text_config"), "config.json text_config"));
    return add_eos_token();
  }

 private:
  std::string where(std::string_view file) const { return fmt::format("{}/{}", files_.name(), file); }

  Status read_tokenizer() {
    TRY(auto json, read_text_if_present(files_, "tokenizer.json", kTokenizerBudgetBytes));
    if (!json) {
      out_.notes.emplace_back("no tokenizer.json: ids only, no text");
      return absl::OkStatus();
    }
    TRY(facts_, scan_tokenizer(*json, where("tokenizer.json")));
    out_.text.tokenizer = model::TokenizerJson{.json = *std::move(json), .source = where("tokenizer.json")};
    return absl::OkStatus();
  }

  // A special token is a string, or an object with its content.
  static const std::string* token_text(const std::optional<Json>& json, std::string_view key) {
    const Json* value = json ? json->find_value(key) : nullptr;
    if (value != nullptr && value->as_object() != nullptr) value = value->find_value("content");
    return value == nullptr ? nullptr : value->as_string();
  }

  std::optional<std::string> special(std::string_view key) const {
    const std::string* text = token_text(tokenizer_config_, key);
    if (text == nullptr) text = token_text(special_tokens_, key);
    return text == nullptr ? std::nullopt : std::optional(*text);
  }

  StatusOr<std::optional<bool>> flag(std::string_view key) const {
    const Json* value = tokenizer_config_ ? tokenizer_config_->find_value(key) : nullptr;
    if (value == nullptr) return std::nullopt;
    REJECT_IF(!value->as_bool(), "hf_text.flag", fmt::format("{} key {}", where("tokenizer_config.json"), key),
              "true or false", value->dump());
    return value->as_bool();
  }

  std::optional<int32_t> id_of(const std::optional<std::string>& token) const {
    const auto found = token ? facts_.added_tokens.find(*token) : facts_.added_tokens.end();
    if (found == facts_.added_tokens.end()) return std::nullopt;
    return static_cast<int32_t>(found->second);
  }

  Status read_specials() {
    model::TextAssets& assets = out_.text;
    assets.bos_token = special("bos_token");
    assets.eos_token = special("eos_token");
    assets.pad_token = special("pad_token");
    assets.unk_token = special("unk_token");
    assets.bos_id = id_of(assets.bos_token);
    TRY(assets.add_bos, flag("add_bos_token"));
    TRY(assets.add_eos, flag("add_eos_token"));
    return absl::OkStatus();
  }

  void set_template(std::string name, std::string source, std::string_view file) {
    out_.text.chat_templates[std::move(name)] = std::move(source);
    out_.text.chat_template_source = where(file);
  }

  // A template, or a list of {name, template}.
  Status take_templates(const Json* value, std::string_view file) {
    if (value == nullptr) return absl::OkStatus();
    if (const std::string* text = value->as_string()) {
      set_template("default", *text, file);
      return absl::OkStatus();
    }
    REJECT_IF(value->as_array() == nullptr, "hf_text.templates", fmt::format("{} key chat_template", where(file)),
              "a string or a list", value->kind_name());
    const Json::Array none;
    for (const Json& item : value->as_array() == nullptr ? none : *value->as_array()) {
      const Json* name = item.find_value("name");
      const Json* source = item.find_value("template");
      const bool complete = name != nullptr && name->as_string() && source != nullptr && source->as_string();
      REJECT_IF(!complete, "hf_text.named_template", fmt::format("{} key chat_template", where(file)),
                "a name and a template in each item", item.kind_name());
      if (complete) set_template(*name->as_string(), *source->as_string(), file);
    }
    return absl::OkStatus();
  }

  // Later wins: the order of transformers, where chat_template.jinja is stronger than everything.
  Status read_templates() {
    TRY(const auto json, read_json_if_present(files_, "chat_template.json", kSmallBudgetBytes));
    if (json) TRY(take_templates(json->find_value("chat_template"), "chat_template.json"));
    if (tokenizer_config_) TRY(take_templates(tokenizer_config_->find_value("chat_template"), "tokenizer_config.json"));
    TRY(auto jinja, read_text_if_present(files_, "chat_template.jinja", kSmallBudgetBytes));
    if (jinja) set_template("default", *std::move(jinja), "chat_template.jinja");
    return absl::OkStatus();
  }

  void add_end(int32_t id, std::string source) {
    auto& ends = out_.text.end_tokens;
    const auto known = std::find_if(ends.begin(), ends.end(), [&](const auto& end) { return end.id == id; });
    if (known == ends.end()) ends.push_back({.id = id, .source = std::move(source)});
  }

  // `eos_token_id` of `tree`: a number, a list, or absent.
  Status add_end_ids(const Json* tree, std::string_view file) {
    const Json* value = tree == nullptr ? nullptr : tree->find_value("eos_token_id");
    if (value == nullptr) return absl::OkStatus();
    const Json::Array single = {*value};
    for (const Json& item : value->as_array() != nullptr ? *value->as_array() : single) {
      const auto id = item.as_int();
      REJECT_IF(!id || *id > INT32_MAX || *id < -1, "hf_text.eos_id", fmt::format("{} key eos_token_id", where(file)),
                "an id or a list of ids", value->dump().substr(0, 80));
      if (id && *id >= 0 && *id <= INT32_MAX)
        add_end(static_cast<int32_t>(*id), fmt::format("{} eos_token_id", where(file)));
    }
    return absl::OkStatus();
  }

  Status add_eos_token() {
    const auto id = id_of(out_.text.eos_token);
    if (id) add_end(*id, fmt::format("{} eos_token {}", where("tokenizer_config.json"), *out_.text.eos_token));
    return absl::OkStatus();
  }

  StatusOr<std::optional<double>> sampling(const Json& json, std::string_view key) const {
    const Json* value = json.find_value(key);
    if (value == nullptr) return std::nullopt;
    REJECT_IF(!value->as_double(), "hf_text.sampling", fmt::format("{} key {}", where("generation_config.json"), key),
              "a number", value->dump().substr(0, 80));
    return value->as_double();
  }

  Status read_generation_config() {
    TRY(const auto json, read_json_if_present(files_, "generation_config.json", kSmallBudgetBytes));
    if (!json) return absl::OkStatus();
    model::GenerationDefaults& defaults = out_.generation;
    TRY(defaults.temperature, sampling(*json, "temperature"));
    TRY(defaults.top_p, sampling(*json, "top_p"));
    TRY(defaults.min_p, sampling(*json, "min_p"));
    TRY(defaults.repetition_penalty, sampling(*json, "repetition_penalty"));
    TRY(const auto top_k, sampling(*json, "top_k"));
    if (top_k) defaults.top_k = static_cast<int64_t>(std::clamp(*top_k, 0.0, 1e9));
    const Json* do_sample = json->find_value("do_sample");
    if (do_sample != nullptr) defaults.do_sample = do_sample->as_bool();
    defaults.source = where("generation_config.json");
    return add_end_ids(&*json, "generation_config.json");
  }

  const FileSet& files_;
  Container& out_;
  TokenizerFacts facts_;
  std::optional<Json> tokenizer_config_;
  std::optional<Json> special_tokens_;
};

}  // namespace

Status read_hugging_face_text(const FileSet& files, Container& container) {
  return TextReader(files, container).read();
}

Status read_hugging_face_files(const FileSet& files, Container& container) {
  const std::string config_name = fmt::format("{}/config.json", files.name());
  TRY(auto config, read_json_if_present(files, "config.json", kConfigBudgetBytes));
  REJECT_IF(!config, "hf_text.config_missing", config_name, "the configuration of the network", "no such file");
  container.metadata = {
      .dialect = arch::Dialect::kHuggingFace, .tree = std::move(config).value_or(Json()), .file = config_name};
  return read_hugging_face_text(files, container);
}

}  // namespace motley::ingest
