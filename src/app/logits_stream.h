// The logits of a list of ids, some positions at a time, so that a long text needs no more memory than a short one.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "exec/runner.h"

namespace motley::app {

// InvalidArgument for an id outside the vocabulary; `where` is what the ids were given as.
Status check_ids(std::span<const int32_t> ids, uint32_t vocabulary, std::string_view where);

// Owner: a command. Threads: one. Lifetime: runner and ids outlive it; its sequence ends with it.
class LogitsStream {
 public:
  enum class Positions : uint8_t { kAll, kLast };
  // `chunk_tokens`: ids computed by one next(), at least 1.
  LogitsStream(exec::Runner& runner, std::span<const int32_t> ids, uint32_t chunk_tokens, Positions wanted);
  ~LogitsStream();
  LogitsStream(const LogitsStream&) = delete;
  LogitsStream& operator=(const LogitsStream&) = delete;

  bool done() const { return computed_tokens_ == ids_.size(); }
  // Computes the next ids and returns the rows of those that are wanted, [positions, V], possibly none. Errors are the
  // runner's.
  StatusOr<std::vector<float>> next();

 private:
  exec::Runner& runner_;
  std::span<const int32_t> ids_;
  uint32_t chunk_tokens_;
  Positions wanted_;
  std::optional<exec::SequenceId> sequence_;
  size_t computed_tokens_ = 0;
};

}  // namespace motley::app
