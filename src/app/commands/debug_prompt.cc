#include <memory>

#include "app/commands.h"
#include "app/conversation.h"
#include "app/model_options.h"
#include "app/output.h"
#include "app/prompt_input.h"
#include "text/chat_template.h"

namespace motley::app {
namespace {

struct PromptOptions {
  ModelOptions model;
  std::string messages_file;
  bool no_generation_prompt = false;
};

// A list of messages, or an object with "messages" and perhaps "tools" and "documents"; its other members become
// variables.
Status fill(text::ChatInput& input, const Json& conversation, const std::string& where) {
  const Json* messages = conversation.as_array() != nullptr ? &conversation : conversation.find_value("messages");
  REJECT_IF(messages == nullptr || messages->as_array() == nullptr, "app.messages", where,
            "a list of messages, or an object with \"messages\"", conversation.kind_name());
  input.messages_json = messages->dump();
  if (messages == &conversation) return absl::OkStatus();
  Json variables = Json::Object{};
  for (const auto& [key, value] : *conversation.as_object()) {
    if (key == "tools" && !value.is_null())
      input.tools_json = value.dump();
    else if (key == "documents" && !value.is_null())
      input.documents_json = value.dump();
    else if (key != "messages" && key != "tools" && key != "documents")
      variables.set(key, value);
  }
  input.variables_json = variables.dump();
  return absl::OkStatus();
}

Status prompt(const PromptOptions& options) {
  TRY(const auto model, load_model(options.model));
  TRY(const auto chat_template, compile_chat_template(*model));
  TRY(const std::string text, read_text(options.messages_file));
  TRY(const Json conversation, parse_json(text, options.messages_file));
  text::ChatInput input = text::chat_input_of(model->text);
  TRY(fill(input, conversation, options.messages_file));
  if (options.no_generation_prompt) input.generation_prompt = text::GenerationPrompt::kNone;
  TRY(const std::string rendered, chat_template.render(input));
  return print_json(Json::Object{{"prompt", rendered}});
}

}  // namespace

void add_debug_prompt(CommandLine& line) {
  Arguments debug = line.root().command("debug", "Look inside, to compare with another program");
  Arguments command = debug.command("prompt", "The text that a chat template makes of messages");
  auto options = std::make_shared<PromptOptions>();
  add_model_options(command, options->model);
  command.required("MESSAGES", options->messages_file,
                   "A JSON file (- for standard input): a list of messages, or {\"messages\", \"tools\", …}");
  command.value("--no-generation-prompt", options->no_generation_prompt, "Do not begin the answer");
  command.examples(R"(  echo '[{"role":"user","content":"Hi"}]' | motley debug prompt model.gguf -)");
  command.action([options] { return prompt(*options); });
}

}  // namespace motley::app
