#include "convert/text_files.h"

#include <algorithm>
#include <array>

#include "base/folder.h"
#include "convert/hugging_face_config.h"
#include "text/vocabulary.h"

namespace motley::convert {
namespace {

// What transformers writes beside weights for its tokenizers.
constexpr auto kTextFiles = std::to_array<std::string_view>(
    {"tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json", "vocab.json",
     "merges.txt", "tokenizer.model", "chat_template.jinja", "chat_template.json", "generation_config.json"});
constexpr uint64_t kBudgetBytes = 128 << 20;

// Where files of text would lie: beside the tokenizer that was read, or beside the model.
StatusOr<std::string> text_folder(const model::Model& model) {
  const auto* json = std::get_if<model::TokenizerJson>(&model.text.tokenizer);
  if (json != nullptr) return split_path(json->source).folder;
  TRY(const PathKind kind, path_kind(model.provenance.path));
  return kind == PathKind::kFolder ? model.provenance.path : split_path(model.provenance.path).folder;
}

StatusOr<PlannedFile> carried(const std::string& folder, const std::string& name) {
  TRY(const auto source, open_file(fmt::format("{}/{}", folder, name)));
  TRY(const auto bytes, read_range(*source, {.offset = 0, .size_bytes = source->size_bytes()}, kBudgetBytes));
  return text_file(name, std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
}

Status carry_files(const model::Model& model, TextFiles& out) {
  TRY(const std::string folder, text_folder(model));
  TRY(const auto names, list_files(folder));
  for (const std::string& name : names) {
    if (std::find(kTextFiles.begin(), kTextFiles.end(), name) == kTextFiles.end()) continue;
    TRY(auto file, carried(folder, name));
    out.files.push_back(std::move(file));
  }
  return absl::OkStatus();
}

void set_if(Json& json, const char* key, const std::optional<std::string>& value) {
  if (value) json.set(key, *value);
}

// transformers puts BOS before a text where the post-processor says so.
Json bos_before(const std::string& token, int32_t id) {
  const auto special = [&] {
    return Json(Json::Object{{"SpecialToken", Json::Object{{"id", token}, {"type_id", 0}}}});
  };
  const auto sequence = [](const char* name, int type) {
    return Json(Json::Object{{"Sequence", Json::Object{{"id", name}, {"type_id", type}}}});
  };
  return Json::Object{
      {"type", "TemplateProcessing"},
      {"single", Json::Array{special(), sequence("A", 0)}},
      {"pair", Json::Array{special(), sequence("A", 0), special(), sequence("B", 1)}},
      {"special_tokens",
       Json::Object{{token, Json::Object{{"id", token}, {"ids", Json::Array{id}}, {"tokens", Json::Array{token}}}}}}};
}

StatusOr<std::string> made_tokenizer(const model::Vocabulary& vocabulary, const model::TextAssets& text) {
  TRY(std::string made, text::tokenizer_json_of(vocabulary));
  const bool bos = text.add_bos.value_or(text::adds_bos_by_default(vocabulary));
  if (!bos || !text.bos_token || !text.bos_id) return made;
  TRY(Json tokenizer, parse_json(made, vocabulary.source));
  tokenizer.set("post_processor", bos_before(*text.bos_token, *text.bos_id));
  return tokenizer.dump();
}

Json chat_templates(const model::TextAssets& text) {
  if (text.chat_templates.size() == 1 && text.chat_templates.contains("default"))
    return text.chat_templates.at("default");
  Json::Array list;
  for (const auto& [name, source] : text.chat_templates)
    list.emplace_back(Json::Object{{"name", name}, {"template", source}});
  return list;
}

std::string tokenizer_config(const model::Model& model) {
  const model::TextAssets& text = model.text;
  Json config;
  config.set("tokenizer_class", "PreTrainedTokenizerFast");
  set_if(config, "bos_token", text.bos_token);
  set_if(config, "eos_token", text.eos_token);
  set_if(config, "unk_token", text.unk_token);
  set_if(config, "pad_token", text.pad_token);
  if (text.add_bos) config.set("add_bos_token", *text.add_bos);
  if (text.add_eos) config.set("add_eos_token", *text.add_eos);
  config.set("clean_up_tokenization_spaces", false);
  config.set("model_max_length", model.spec.context_tokens);
  if (!text.chat_templates.empty()) config.set("chat_template", chat_templates(text));
  return config.dump_pretty() + "\n";
}

std::string generation_config(const model::Model& model) {
  const model::GenerationDefaults& defaults = model.generation;
  Json config;
  if (model.text.bos_id) config.set("bos_token_id", *model.text.bos_id);
  if (!model.text.end_tokens.empty()) config.set("eos_token_id", end_token_ids(model.text));
  if (defaults.do_sample) config.set("do_sample", *defaults.do_sample);
  if (defaults.temperature) config.set("temperature", *defaults.temperature);
  if (defaults.top_p) config.set("top_p", *defaults.top_p);
  if (defaults.min_p) config.set("min_p", *defaults.min_p);
  if (defaults.top_k) config.set("top_k", *defaults.top_k);
  if (defaults.repetition_penalty) config.set("repetition_penalty", *defaults.repetition_penalty);
  return config.is_null() ? "{}\n" : config.dump_pretty() + "\n";
}

}  // namespace

StatusOr<TextFiles> hugging_face_text(const model::Model& model) {
  TextFiles out;
  const auto* vocabulary = std::get_if<model::Vocabulary>(&model.text.tokenizer);
  if (vocabulary == nullptr) {
    TRY(carry_files(model, out));
    if (std::holds_alternative<std::monostate>(model.text.tokenizer))
      out.notes.emplace_back("the source has no tokenizer, so the target has none");
    return out;
  }
  TRY(const std::string tokenizer, made_tokenizer(*vocabulary, model.text));
  out.files.push_back(text_file("tokenizer.json", tokenizer));
  out.files.push_back(text_file("tokenizer_config.json", tokenizer_config(model)));
  out.files.push_back(text_file("generation_config.json", generation_config(model)));
  out.notes.push_back(fmt::format("tokenizer.json was made from the vocabulary in {}", vocabulary->source));
  return out;
}

Status add_text_files(const model::Model& model, Plan& plan) {
  TRY(TextFiles text, hugging_face_text(model));
  std::move(text.files.begin(), text.files.end(), std::back_inserter(plan.files));
  plan.notes = std::move(text.notes);
  return absl::OkStatus();
}

}  // namespace motley::convert
