// Conversations to prompts, as transformers' apply_chat_template writes them. Not for choosing a template or reading
// files.
#pragma once

#include <cstdint>
#include <ctime>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"
#include "model/text_assets.h"

namespace motley::text {

// Whether the prompt ends with the header of the answer that is wanted.
enum class GenerationPrompt { kNone, kAdd };

struct ChatInput {
  std::string messages_json;  // a list of objects
  GenerationPrompt generation_prompt = GenerationPrompt::kAdd;
  std::string tools_json;      // a list of objects; empty: none
  std::string documents_json;  // a list of objects; empty: none
  std::string variables_json;  // an object whose members the template sees by name; empty: none
  // Spellings of the tokens that templates name.
  std::optional<std::string> bos_token;
  std::optional<std::string> eos_token;
  std::optional<std::string> pad_token;
  std::optional<std::string> unk_token;
  std::optional<std::tm> now;  // what strftime_now tells; nullopt: this machine's local time
};

// The special tokens of a checkpoint, and nothing else filled in.
ChatInput chat_input_of(const model::TextAssets& assets);

// Bounds for a template that comes from a stranger. A step costs 1, as do 64 bytes of text made: a prompt of 100,000
// tokens takes some 10,000 for its bytes and a hundred for each message. All of it is about a second of work.
struct ChatLimits {
  uint64_t fuel = 10'000'000;
  uint64_t output_bytes = uint64_t{64} << 20;
  uint64_t memory_bytes = uint64_t{512} << 20;  // held at once; a template that wants more leaks what it held
};

// Immutable; copies share one program. Threads: render may be called at once.
class ChatTemplate {
 public:
  // Errors: InvalidArgument with the template's line. `where` names the file and key in messages.
  static StatusOr<ChatTemplate> compile(std::string_view source, std::string_view where);

  // Errors: FailedPrecondition with the template's own words when it refuses the conversation (raise_exception);
  // ResourceExhausted when a limit ends it; InvalidArgument for JSON that is none and everything else a template can do
  // wrong.
  StatusOr<std::string> render(const ChatInput& input, const ChatLimits& limits = {}) const;

 private:
  struct State;
  explicit ChatTemplate(std::shared_ptr<const State> state) : state_(std::move(state)) {}
  std::shared_ptr<const State> state_;
};

}  // namespace motley::text
