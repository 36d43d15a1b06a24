#include "engine/generation.h"

#include <algorithm>
#include <chrono>

#include "text/detokenizer.h"
#include "text/stop_matcher.h"

namespace motley::engine {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

std::optional<double> rate(uint32_t tokens, double seconds) {
  if (tokens == 0 || seconds <= 0) return std::nullopt;
  return tokens / seconds;
}

// The text of one answer while it grows: ids in, characters out, held back where a stop string may be beginning.
class AnswerText {
 public:
  enum class State { kOpen, kStopped };

  AnswerText(const text::Tokenizer& tokenizer, const GenerationOptions& options, const Observer& observer)
      : detokenizer_(tokenizer, text::SpecialTokens::kSkip), matcher_(options.stop_strings), observer_(observer) {}

  Status prime(std::span<const int32_t> ids) { return detokenizer_.prime(ids); }

  StatusOr<State> feed(int32_t id) {
    TRY(const std::string characters, detokenizer_.feed(id));
    return match(characters);
  }

  // Nothing more will come: gives out what was held back.
  StatusOr<State> finish() {
    TRY(const std::string characters, detokenizer_.finish());
    TRY(const State state, match(characters));
    if (state == State::kOpen) TRY(emit(matcher_.finish()));
    return state;
  }

  std::string take() { return std::move(text_); }

 private:
  StatusOr<State> match(const std::string& characters) {
    const text::StopMatcher::Result result = matcher_.feed(characters);
    TRY(emit(result.text));
    return result.stopped ? State::kStopped : State::kOpen;
  }

  Status emit(const std::string& characters) {
    text_ += characters;
    if (characters.empty() || !observer_.on_text) return absl::OkStatus();
    return observer_.on_text(characters);
  }

  text::Detokenizer detokenizer_;
  text::StopMatcher matcher_;
  const Observer& observer_;
  std::string text_;
};

class Generator {
 public:
  Generator(Sequence& sequence, const text::Tokenizer& tokenizer, const GenerationOptions& options,
            const Observer& observer, const std::atomic<bool>& cancelled)
      : sequence_(sequence),
        options_(options),
        observer_(observer),
        cancelled_(cancelled),
        answer_(tokenizer, options, observer) {}

  StatusOr<Generation> run(std::vector<int32_t> prompt_ids) {
    result_.prompt_ids = std::move(prompt_ids);
    if (options_.continues == GenerationOptions::Continues::kPrompt) TRY(answer_.prime(result_.prompt_ids));
    TRY(const std::optional<int32_t> first, prefill());
    const auto start = Clock::now();
    TRY(result_.stop_reason, decode(first));
    result_.timings.decode_s = seconds_since(start);
    if (result_.stop_reason != StopReason::kStop) {
      TRY(const auto state, answer_.finish());
      if (state == AnswerText::State::kStopped) result_.stop_reason = StopReason::kStop;
    }
    result_.text = answer_.take();
    return std::move(result_);
  }

 private:
  StatusOr<std::optional<int32_t>> prefill() {
    const auto start = Clock::now();
    TRY(const Prefill done, sequence_.prefill(result_.prompt_ids, options_.sampling, cancelled_, observer_.on_prefill));
    result_.timings.prefill_tokens = done.computed_tokens;
    result_.timings.prefill_s = seconds_since(start);
    return done.token;
  }

  StatusOr<StopReason> decode(std::optional<int32_t> token) {
    if (options_.max_tokens == 0u) return StopReason::kLength;
    while (token && !cancelled_.load(std::memory_order_relaxed)) {
      TRY(const auto ended, take(*token));
      if (ended) return *ended;
      TRY(token, sequence_.step(*token, options_.sampling));
      ++result_.timings.decode_tokens;
    }
    return StopReason::kCancelled;
  }

  // Makes `id` part of the answer; says why nothing may follow it, when nothing may.
  StatusOr<std::optional<StopReason>> take(int32_t id) {
    result_.ids.push_back(id);
    if (std::find(options_.end_ids.begin(), options_.end_ids.end(), id) != options_.end_ids.end())
      return StopReason::kEnd;
    TRY(const auto state, answer_.feed(id));
    if (state == AnswerText::State::kStopped) return StopReason::kStop;
    if (options_.max_tokens && result_.ids.size() >= *options_.max_tokens) return StopReason::kLength;
    if (result_.prompt_ids.size() + result_.ids.size() >= sequence_.context_tokens()) return StopReason::kContext;
    return std::nullopt;
  }

  Sequence& sequence_;
  const GenerationOptions& options_;
  const Observer& observer_;
  const std::atomic<bool>& cancelled_;
  AnswerText answer_;
  Generation result_;
};

}  // namespace

std::string_view name(StopReason reason) {
  switch (reason) {
    case StopReason::kEnd:
      return "end";
    case StopReason::kStop:
      return "stop";
    case StopReason::kLength:
      return "length";
    case StopReason::kContext:
      return "context";
    case StopReason::kCancelled:
      return "cancelled";
  }
  return "";
}

std::optional<double> Timings::prefill_tokens_per_s() const { return rate(prefill_tokens, prefill_s); }
std::optional<double> Timings::decode_tokens_per_s() const { return rate(decode_tokens, decode_s); }

StatusOr<Generation> generate(Sequence& sequence, const text::Tokenizer& tokenizer, std::vector<int32_t> prompt_ids,
                              const GenerationOptions& options, const Observer& observer,
                              const std::atomic<bool>& cancelled) {
  return Generator(sequence, tokenizer, options, observer, cancelled).run(std::move(prompt_ids));
}

}  // namespace motley::engine
