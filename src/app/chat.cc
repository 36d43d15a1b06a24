#include "app/chat.h"

#include <array>
#include <cstdlib>

#include "absl/strings/numbers.h"
#include "absl/strings/strip.h"
#include "app/exit_status.h"
#include "app/interrupt.h"
#include "app/line_editor.h"
#include "app/message_assembler.h"
#include "app/output.h"
#include "base/folder.h"

namespace motley::app {
namespace {

constexpr const char* kPrompt = ">>> ";
constexpr const char* kContinuation = "... ";

constexpr std::string_view kHelp = R"(/set NAME VALUE   change how answers are made ("default" takes a change back):
                  temperature, top_k, top_p, min_p, repeat_penalty, presence_penalty, frequency_penalty, seed,
                  n (most tokens of an answer), stop (a text that ends an answer)
/set              show what is set
/system TEXT      tell the model how to behave; without TEXT, show it; /system - takes it back
/clear            forget the conversation
/show             what is running
/help             this
/bye              leave (so does Ctrl-D)
A message of several lines stands between """ and """, or ends each line but its last with a backslash.
Ctrl-C ends an answer, or gives up the line you are typing.
)";

// Follows the XDG base directory specification.
std::string history_file() {
  const char* state = std::getenv("XDG_STATE_HOME");
  if (state != nullptr && *state == '/') return std::string(state) + "/motley/history";
  const char* home = std::getenv("HOME");
  return home != nullptr && *home != '\0' ? std::string(home) + "/.local/state/motley/history" : "";
}

struct Words {
  std::string_view first, rest;
};

Words split_first(std::string_view line) {
  const size_t end = std::min(line.find(' '), line.size());
  const absl::string_view rest = absl::StripAsciiWhitespace(absl::string_view(line.data() + end, line.size() - end));
  return {line.substr(0, end), {rest.data(), rest.size()}};
}

class Chat {
 public:
  Chat(Conversation& conversation, const LoadedModel& loaded, AnswerOptions options)
      : conversation_(conversation), loaded_(loaded), options_(std::move(options)), editor_(history_file()) {}

  Status run() {
    const InterruptsIgnored between_answers;
    TRY(greet());
    while (open_) {
      const LineEditor::Line line = editor_.read(assembler_.in_progress() ? kContinuation : kPrompt);
      TRY(handle(line));
    }
    return absl::OkStatus();
  }

 private:
  using Command = Status (Chat::*)(std::string_view argument);
  struct Row {
    std::string_view name;
    Command run;
  };
  static const std::array<Row, 7> kCommands;

  Status greet() {
    const std::string name = split_path(loaded_.model->provenance.path).name;
    return print(fmt::format("{}, {} tokens of context. /help says what you can do; /bye or Ctrl-D leaves.\n", name,
                             loaded_.runner->limits().context_tokens));
  }

  Status handle(const LineEditor::Line& line) {
    switch (line.kind) {
      case LineEditor::Line::Kind::kEnd:
        open_ = false;
        return print("\n");
      case LineEditor::Line::Kind::kInterrupted:
        return give_up_line();
      case LineEditor::Line::Kind::kText:
        break;
    }
    const bool first_line = !assembler_.in_progress();
    if (first_line && line.text.starts_with('/')) return obey(line.text);
    const auto message = assembler_.feed(line.text);
    if (!message || message->find_first_not_of(" \t\n") == std::string::npos) return absl::OkStatus();
    return ask(*message);
  }

  Status give_up_line() {
    assembler_.reset();
    return print("\nUse /bye or Ctrl-D to leave.\n");
  }

  Status obey(std::string_view line) {
    const Words words = split_first(line);
    for (const Row& row : kCommands)
      if (row.name == words.first) return (this->*row.run)(words.rest);
    return print(fmt::format("There is no command {}; /help lists those there are.\n", words.first));
  }

  Status ask(const std::string& message) {
    const auto result = answer(conversation_, loaded_, message, options_);
    if (!result.ok()) return survive(result.status());
    switch (result->stop_reason) {
      case engine::StopReason::kContext:
        return print("[The context is full. /clear begins a new conversation.]\n\n");
      case engine::StopReason::kLength:
        return print(fmt::format("[Ended after {} tokens.]\n\n", result->ids.size()));
      case engine::StopReason::kCancelled:
        return print("[Ended by you.]\n\n");
      case engine::StopReason::kEnd:
      case engine::StopReason::kStop:
        break;
    }
    return print("\n");
  }

  // What went wrong with one message must not end the chat; a lost terminal does.
  Status survive(const Status& status) {
    if (status.message().empty() || absl::IsDataLoss(status)) return status;
    report(status);
    return absl::OkStatus();
  }

  Status help(std::string_view /*argument*/) { return print(kHelp); }

  Status leave(std::string_view /*argument*/) {
    open_ = false;
    return absl::OkStatus();
  }

  Status clear(std::string_view /*argument*/) {
    conversation_.clear();
    return print("The conversation is forgotten.\n");
  }

  Status system(std::string_view argument) {
    if (argument.empty()) return print(conversation_.system().value_or("No system message.") + "\n");
    if (conversation_.style() == Conversation::Style::kRaw) return print("A --raw chat has no system message.\n");
    conversation_.set_system(argument == "-" ? std::nullopt : std::optional<std::string>(argument));
    return print(argument == "-" ? "The system message is taken back.\n" : "The system message is set.\n");
  }

  Status show(std::string_view /*argument*/) {
    std::string text;
    for (const std::string& line : describe(loaded_, std::nullopt)) text += line + "\n";
    text += fmt::format("conversation: {} messages, {} of {} tokens\n", conversation_.messages(),
                        conversation_.tokens(), loaded_.runner->limits().context_tokens);
    return print(text);
  }

  Status set(std::string_view argument) {
    const Words words = split_first(argument);
    if (argument.empty()) return show_settings();
    if (words.rest.empty()) return print("Usage: /set NAME VALUE\n");
    AnswerOptions changed = options_;
    Status status = change(changed, words.first, words.rest);
    if (status.ok()) status = resolve(changed.sampling, loaded_.model->generation).status();
    if (!status.ok()) return survive(status);
    options_ = std::move(changed);
    return print(fmt::format("{} is now {}.\n", words.first, words.rest));
  }

  static Status change(AnswerOptions& options, std::string_view name, std::string_view value) {
    const std::string text(value);
    if (name == "stop") {
      options.stop_strings.clear();
      if (value != "default") options.stop_strings = {text};
      return absl::OkStatus();
    }
    if (name != "n") return set_sampling_option(options.sampling, name, value);
    uint32_t tokens = 0;
    if (value != "default" && !absl::SimpleAtoi(text, &tokens))
      return absl::InvalidArgumentError(fmt::format("n: expected a number or \"default\", got {}", text));
    options.max_tokens = value == "default" ? std::nullopt : std::optional(tokens);
    return absl::OkStatus();
  }

  Status show_settings() {
    TRY(const Sampling sampling, resolve(options_.sampling, loaded_.model->generation));
    std::string text;
    for (const Sampling::Line& line : sampling.lines)
      text += line.name == "seed" && !options_.sampling.seed
                  ? "seed: another one for every answer\n"
                  : fmt::format("{}: {} ({})\n", line.name, line.value, line.source);
    text += options_.max_tokens ? fmt::format("n: {}\n", *options_.max_tokens) : "n: no limit but the context\n";
    for (const std::string& stop : options_.stop_strings) text += fmt::format("stop: {}\n", stop);
    return print(text);
  }

  Conversation& conversation_;
  const LoadedModel& loaded_;
  AnswerOptions options_;
  LineEditor editor_;
  MessageAssembler assembler_;
  bool open_ = true;
};

const std::array<Chat::Row, 7> Chat::kCommands = {{{"/help", &Chat::help},
                                                   {"/bye", &Chat::leave},
                                                   {"/clear", &Chat::clear},
                                                   {"/system", &Chat::system},
                                                   {"/show", &Chat::show},
                                                   {"/set", &Chat::set},
                                                   {"/exit", &Chat::leave}}};

}  // namespace

Status chat(Conversation& conversation, const LoadedModel& loaded, AnswerOptions options) {
  return Chat(conversation, loaded, std::move(options)).run();
}

}  // namespace motley::app
