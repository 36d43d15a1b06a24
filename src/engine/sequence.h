// One sequence of tokens in a Runner, kept in step with the list of its ids: a prompt that begins like the one before
// is computed only from where it differs. Tokens only; text, stop conditions and chat templates are generation.h's and
// its callers'.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "base/status.h"
#include "exec/runner.h"
#include "sample/sampler.h"

namespace motley::engine {

// A prompt on its way in: `done` of `total` tokens that had to be computed.
using PrefillProgress = std::function<void(uint32_t done, uint32_t total)>;

struct Prefill {
  std::optional<int32_t> token;  // drawn after the last id; nullopt when cancelled before that
  uint32_t computed_tokens = 0;  // how many were not there already
};

// Owner: one conversation. Threads: one. Lifetime: the runner outlives it; the sequence is dropped with it.
class Sequence {
 public:
  explicit Sequence(exec::Runner& runner) : runner_(runner) {}
  ~Sequence();
  Sequence(const Sequence&) = delete;
  Sequence& operator=(const Sequence&) = delete;

  // Makes the sequence hold exactly `ids`, in steps of at most Limits::max_step_tokens, and draws the next token.
  // InvalidArgument when there are none, ResourceExhausted when they leave no room for a token in the context.
  // `cancelled` is looked at between steps; what was computed by then stays.
  StatusOr<Prefill> prefill(std::span<const int32_t> ids, const sample::Settings& sampling,
                            const std::atomic<bool>& cancelled, const PrefillProgress& progress);

  // Appends `id` and draws the token after it.
  StatusOr<int32_t> step(int32_t id, const sample::Settings& sampling);

  // What the runner holds.
  const std::vector<int32_t>& ids() const { return ids_; }
  uint32_t context_tokens() const { return runner_.limits().context_tokens; }

 private:
  Status make_room_for(std::span<const int32_t> ids);
  Status keep(uint32_t length);
  StatusOr<std::optional<int32_t>> append(std::span<const int32_t> ids, const sample::Settings& sampling,
                                          exec::Outputs outputs);

  exec::Runner& runner_;
  std::optional<exec::SequenceId> sequence_;
  std::vector<int32_t> ids_;
};

}  // namespace motley::engine
