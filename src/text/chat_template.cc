#include "text/chat_template.h"

#include <utility>
#include <vector>

#include "text/bridge_memory.h"
#include "text/utf8.h"

namespace motley::text {
namespace {

// Longer than any published template by two orders of magnitude.
constexpr size_t kMaxTemplateBytes = size_t{4} << 20;

// Members of a conversation that a template sees. Absent lists are null there, as in transformers.
class Variables {
 public:
  void add_text(std::string_view name, std::string_view value) { add(MOTLEY_TEXT, name, value); }
  void add_json(std::string_view name, std::string_view value) {
    add(MOTLEY_JSON, name, value.empty() ? std::string_view("null") : value);
  }
  void add_members(std::string_view object) {
    if (!object.empty()) add(MOTLEY_OBJECT, "variables", object);
  }
  void add_token(std::string_view name, const std::optional<std::string>& token) {
    if (token) add_text(name, *token);
  }
  const std::vector<MotleyVariable>& list() const { return list_; }

 private:
  void add(MotleyVariableKind kind, std::string_view name, std::string_view value) {
    list_.push_back({.kind = kind, .name = borrow(name), .value = borrow(value)});
  }
  std::vector<MotleyVariable> list_;
};

Variables variables_of(const ChatInput& input) {
  Variables variables;
  variables.add_token("bos_token", input.bos_token);
  variables.add_token("eos_token", input.eos_token);
  variables.add_token("pad_token", input.pad_token);
  variables.add_token("unk_token", input.unk_token);
  variables.add_members(input.variables_json);
  variables.add_json("messages", input.messages_json);
  variables.add_json("tools", input.tools_json);
  variables.add_json("documents", input.documents_json);
  variables.add_json("add_generation_prompt", input.generation_prompt == GenerationPrompt::kAdd ? "true" : "false");
  return variables;
}

MotleyLocalTime local_time(const std::optional<std::tm>& given) {
  std::tm now{};
  if (given) {
    now = *given;
  } else {
    const std::time_t seconds = std::time(nullptr);
    localtime_r(&seconds, &now);
  }
  return {.year = now.tm_year + 1900,
          .month = now.tm_mon + 1,
          .day = now.tm_mday,
          .hour = now.tm_hour,
          .minute = now.tm_min,
          .second = now.tm_sec,
          .weekday = now.tm_wday,
          .yearday = now.tm_yday};
}

Status failure(int32_t result, const std::string& message, std::string_view where) {
  switch (result) {
    case MOTLEY_REFUSED:
      return absl::FailedPreconditionError(
          fmt::format("{}: the chat template refuses this conversation: {}", where, message));
    case MOTLEY_EXHAUSTED:
      return absl::ResourceExhaustedError(
          fmt::format("{}: expected a chat template that ends, got one that does not: {}", where, message));
    case MOTLEY_PANIC:
      return absl::InternalError(fmt::format("{}: {}", where, message));
    default:
      return absl::InvalidArgumentError(fmt::format("{}: {}", where, message));
  }
}

}  // namespace

struct ChatTemplate::State {
  State() = default;
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() { motley_template_free(handle); }

  MotleyTemplate* handle = nullptr;
  std::string where;
};

ChatInput chat_input_of(const model::TextAssets& assets) {
  ChatInput input;
  input.bos_token = assets.bos_token;
  input.eos_token = assets.eos_token;
  input.pad_token = assets.pad_token;
  input.unk_token = assets.unk_token;
  return input;
}

StatusOr<ChatTemplate> ChatTemplate::compile(std::string_view source, std::string_view where) {
  REJECT_IF(source.size() > kMaxTemplateBytes, "chat_template.size", where,
            fmt::format("a chat template of at most {} bytes", kMaxTemplateBytes), source.size());
  const auto invalid = first_invalid_utf8(source);
  REJECT_IF(invalid.has_value(), "chat_template.utf8", where, "UTF-8", fmt::format("an invalid byte at {}", *invalid));
  auto state = std::make_shared<State>();
  state->where = where;
  MotleyBytes error{};
  if (motley_template_compile(borrow(source), &state->handle, &error) != MOTLEY_OK) {
    const std::string reason = take(error);
    REJECT_IF(true, "chat_template.syntax", where, "a Jinja template", reason);
    return absl::InternalError(reason);
  }
  return ChatTemplate(std::move(state));
}

StatusOr<std::string> ChatTemplate::render(const ChatInput& input, const ChatLimits& limits) const {
  const Variables variables = variables_of(input);
  const MotleyLocalTime now = local_time(input.now);
  const MotleyRenderLimits bounds = {
      .fuel = limits.fuel, .output_bytes = limits.output_bytes, .memory_bytes = limits.memory_bytes};
  MotleyBytes text{};
  MotleyBytes error{};
  const int32_t result = motley_template_render(state_->handle, variables.list().data(), variables.list().size(), &now,
                                                &bounds, &text, &error);
  if (result != MOTLEY_OK) return failure(result, take(error), state_->where);
  return take(text);
}

}  // namespace motley::text
