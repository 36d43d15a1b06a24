// From a prompt's ids to an answer's text: draws tokens until something ends it. Text comes out in whole characters and
// never holds a stop string. Knows no chat templates and no messages; those become ids before.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "engine/sequence.h"
#include "sample/sampler.h"
#include "text/tokenizer.h"

namespace motley::engine {

struct GenerationOptions {
  sample::Settings sampling;
  std::optional<uint32_t> max_tokens;     // nullopt: until something else ends it
  std::vector<std::string> stop_strings;  // wherever token borders fall
  std::vector<int32_t> end_ids;
  // What the first characters join: the prompt's last ones (a continuation keeps its leading space) or nothing (an
  // answer).
  enum class Continues : uint8_t { kPrompt, kNothing } continues = Continues::kNothing;
};

enum class StopReason : uint8_t {
  kEnd,      // the model drew an end token
  kStop,     // a stop string
  kLength,   // max_tokens
  kContext,  // no room for another token; nothing was cut away to make some
  kCancelled,
};
std::string_view name(StopReason reason);  // "end", "stop", "length", "context", "cancelled"

struct Timings {
  uint32_t prefill_tokens = 0;  // computed; a prefix that was there already does not count
  double prefill_s = 0;
  uint32_t decode_tokens = 0;  // after the first, which prefill gives
  double decode_s = 0;
  // nullopt when nothing was computed.
  std::optional<double> prefill_tokens_per_s() const;
  std::optional<double> decode_tokens_per_s() const;
};

struct Generation {
  std::string text;
  std::vector<int32_t> ids;  // as drawn: with the end token and the tokens of a stop string
  std::vector<int32_t> prompt_ids;
  StopReason stop_reason = StopReason::kEnd;
  Timings timings;
};

struct Observer {
  std::function<Status(std::string_view)> on_text;  // never empty text; an error ends the generation with it
  PrefillProgress on_prefill;
};

// Runs on the caller's thread. `cancelled` is looked at before every token and between steps of the prompt; what was
// there by then is returned. Errors are those of Sequence, of the tokenizer and of on_text.
StatusOr<Generation> generate(Sequence& sequence, const text::Tokenizer& tokenizer, std::vector<int32_t> prompt_ids,
                              const GenerationOptions& options, const Observer& observer,
                              const std::atomic<bool>& cancelled);

}  // namespace motley::engine
