#include <memory>

#include "app/answer.h"
#include "app/chat.h"
#include "app/commands.h"
#include "app/conversation.h"
#include "app/exit_status.h"
#include "app/output.h"
#include "app/prompt_input.h"
#include "base/terminal.h"

namespace motley::app {
namespace {

struct RunOptions {
  ModelOptions model;
  ComputeOptions compute;
  AnswerOptions answer;
  std::optional<std::string> prompt, system;
  std::optional<uint32_t> context_tokens;
  bool raw = false, json = false;
};

void add_options(Arguments& command, RunOptions& options) {
  add_model_options(command, options.model);
  command.value("PROMPT", options.prompt, "What to answer; text that is piped in follows it. Without either: a chat");
  command.value("--raw", options.raw, "Continue the text as it is, without a chat template");
  command.value("--system TEXT", options.system, "Tell the model how to behave");
  command.value("-n,--max-tokens N", options.answer.max_tokens, "Generate at most N tokens (default: as many as fit)");
  add_sampling_options(command, options.answer.sampling);
  command.value("--stop TEXT", options.answer.stop_strings, "End before this text, wherever it comes up; repeatable");
  command.value("--context N", options.context_tokens,
                "Room for N tokens of prompt and answer (default: the model's own, as memory allows)");
  add_compute_options(command, options.compute);
  command.value("--json", options.json, "Print one JSON object instead of text");
  command.value("--verbose", options.answer.verbose, "Say on standard error what is in force and how fast it was");
  command.contradicts("--raw", "--system");
  command.contradicts("--raw", "--chat-template");
}

Status check(const RunOptions& options) {
  for (const std::string& stop : options.answer.stop_strings)
    if (stop.empty()) return usage_error("--stop: expected a text, got nothing");
  // Numbers out of range are found before a large model is loaded.
  return resolve(options.answer.sampling, {}).status();
}

Status check_chat(const RunOptions& options) {
  if (options.json) return usage_error("--json: expected a PROMPT, got none");
  if (!is_terminal(StandardStream::kOutput))
    return usage_error("PROMPT: expected one unless a chat has a terminal, got none");
  return absl::OkStatus();
}

Status answer_once(Conversation& conversation, const LoadedModel& loaded, const std::string& prompt,
                   RunOptions& options) {
  if (options.json) options.answer.show = AnswerOptions::Show::kNothing;
  TRY(const engine::Generation result, answer(conversation, loaded, prompt, options.answer));
  if (options.json) TRY(print_json(to_json(result, loaded)));
  return result.stop_reason == engine::StopReason::kCancelled ? quiet_end(ExitCode::kInterrupted) : absl::OkStatus();
}

Status run(RunOptions& options) {
  TRY(check(options));
  TRY(const auto prompt, read_prompt(options.prompt));
  if (!prompt) TRY(check_chat(options));
  TRY(const auto loaded, load_for_running(options.model, options.compute, options.context_tokens));
  if (options.answer.verbose) {
    for (const std::string& text : describe(*loaded, options.context_tokens)) note(text);
    note(fmt::format("loaded in {:.0f} ms", loaded->load_ms));
  }
  TRY(const auto conversation,
      Conversation::create(*loaded, options.raw ? Conversation::Style::kRaw : Conversation::Style::kChat));
  conversation->set_system(options.system);
  if (!prompt) return chat(*conversation, *loaded, options.answer);
  return answer_once(*conversation, *loaded, *prompt, options);
}

}  // namespace

void add_run(CommandLine& line) {
  Arguments command = line.root().command("run", "Answer a prompt, or chat on the terminal");
  auto options = std::make_shared<RunOptions>();
  add_options(command, *options);
  command.examples(R"(  motley run model.gguf "What is the capital of France?"
  motley run model.gguf                                  a chat; /help there says more
  git diff | motley run model.gguf "Explain this change:"
  motley run stories260K --raw --temperature 0 -n 196 "Once upon a time"

How tokens are drawn comes from your flags, else from the model's generation_config.json (steps that it does not
mention are off), else from motley: temperature 0.8, top-k 40, top-p 0.95, min-p 0.05. --verbose says which.
The answer on standard output ends with one newline that is not part of it; "text" of --json has exactly the answer.
Ctrl-C ends the answer.)");
  command.action([options] { return run(*options); });
}

}  // namespace motley::app
