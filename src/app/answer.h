// One answer on its way to a person: streamed text, what its end needs to be told, and the report of --json and
// --verbose.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/conversation.h"
#include "app/sampling_options.h"
#include "base/json.h"
#include "base/status.h"
#include "engine/generation.h"

namespace motley::app {

struct AnswerOptions {
  SamplingOptions sampling;
  std::optional<uint32_t> max_tokens;
  std::vector<std::string> stop_strings;
  enum class Show : uint8_t { kText, kNothing } show = Show::kText;  // on standard output, as it grows
  bool verbose = false;
};

// Asks, with Ctrl-C ending the answer. The text is followed by one newline, whatever it ends with.
StatusOr<engine::Generation> answer(Conversation& conversation, const LoadedModel& loaded, const std::string& question,
                                    const AnswerOptions& options);

// {"text", "ids", "prompt_ids", "stop_reason", "prefill_tokens_per_s", "decode_tokens_per_s", "load_ms",
// "peak_memory_bytes"}; a speed is null when nothing was computed that it could be measured on.
Json to_json(const engine::Generation& generation, const LoadedModel& loaded);

// "prompt 36 tokens at 210.4 tokens/s, answer 8 tokens at 45.2 tokens/s, stopped by end"
std::string describe(const engine::Generation& generation);

// One line of --verbose, on standard error.
void note(const std::string& line);

}  // namespace motley::app
