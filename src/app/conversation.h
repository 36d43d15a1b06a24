// Messages to a model and its answers, over one sequence: each question computes only what is new in the conversation.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>

#include "app/loaded_model.h"
#include "base/json.h"
#include "base/status.h"
#include "engine/generation.h"
#include "engine/sequence.h"
#include "text/chat_template.h"

namespace motley::app {

// The model's template for chats. NotFound when it has none.
StatusOr<text::ChatTemplate> compile_chat_template(const model::Model& model);

// Owner: a command. Threads: one. Lifetime: `loaded` outlives it.
class Conversation {
 public:
  // kRaw: no template; every question is a text to continue, by itself.
  enum class Style { kChat, kRaw };

  // NotFound when a chat is wanted and the model has no template.
  static StatusOr<std::unique_ptr<Conversation>> create(const LoadedModel& loaded, Style style);

  // Forgets all messages; the system message stays.
  void clear() { messages_.clear(); }
  // nullopt: none.
  void set_system(std::optional<std::string> system) { system_ = std::move(system); }
  const std::optional<std::string>& system() const { return system_; }
  size_t messages() const { return messages_.size(); }
  size_t tokens() const { return sequence_.ids().size(); }
  Style style() const { return style_; }

  // Answers `question`. Both become part of the conversation, the answer as far as it came; after an error neither
  // does.
  StatusOr<engine::Generation> ask(const std::string& question, engine::GenerationOptions options,
                                   const engine::Observer& observer, const std::atomic<bool>& cancelled);

 private:
  Conversation(const LoadedModel& loaded, Style style);
  StatusOr<std::vector<int32_t>> prompt_ids(const std::string& question) const;

  const LoadedModel& loaded_;
  Style style_;
  std::optional<text::ChatTemplate> template_;
  std::optional<std::string> system_;
  Json::Array messages_;
  engine::Sequence sequence_;
};

}  // namespace motley::app
