#include "app/conversation.h"

namespace motley::app {
namespace {

Json message(std::string_view role, std::string_view content) {
  return Json::Object{{"role", role}, {"content", content}};
}

}  // namespace

StatusOr<text::ChatTemplate> compile_chat_template(const model::Model& model) {
  const auto found = model.text.chat_templates.find("default");
  if (found == model.text.chat_templates.end())
    return absl::NotFoundError(fmt::format(
        "{}: expected a chat template, got none; give one with --chat-template FILE, or continue plain text with --raw",
        model.provenance.path));
  return text::ChatTemplate::compile(found->second, model.text.chat_template_source);
}

Conversation::Conversation(const LoadedModel& loaded, Style style)
    : loaded_(loaded), style_(style), sequence_(*loaded.runner) {}

StatusOr<std::unique_ptr<Conversation>> Conversation::create(const LoadedModel& loaded, Style style) {
  std::unique_ptr<Conversation> conversation(new Conversation(loaded, style));
  if (style == Style::kChat) {
    TRY(conversation->template_, compile_chat_template(*loaded.model));
  }
  return conversation;
}

StatusOr<std::vector<int32_t>> Conversation::prompt_ids(const std::string& question) const {
  if (style_ == Style::kRaw)
    return loaded_.tokenizer.encode(question, text::SpecialInText::kParse, text::Affixes::kCheckpoint);
  Json::Array all;
  if (system_) all.push_back(message("system", *system_));
  all.insert(all.end(), messages_.begin(), messages_.end());
  all.push_back(message("user", question));
  text::ChatInput input = text::chat_input_of(loaded_.model->text);
  input.messages_json = Json(std::move(all)).dump();
  TRY(const std::string prompt, template_->render(input));
  return loaded_.tokenizer.encode(prompt, text::SpecialInText::kParse, text::Affixes::kNone);
}

StatusOr<engine::Generation> Conversation::ask(const std::string& question, engine::GenerationOptions options,
                                               const engine::Observer& observer, const std::atomic<bool>& cancelled) {
  TRY(std::vector<int32_t> ids, prompt_ids(question));
  options.continues = style_ == Style::kRaw ? engine::GenerationOptions::Continues::kPrompt
                                            : engine::GenerationOptions::Continues::kNothing;
  TRY(engine::Generation answer,
      engine::generate(sequence_, loaded_.tokenizer, std::move(ids), options, observer, cancelled));
  if (style_ == Style::kChat) {
    messages_.push_back(message("user", question));
    messages_.push_back(message("assistant", answer.text));
  }
  return answer;
}

}  // namespace motley::app
