// Runs two models side by side over the same ids and keeps what differs at each position, not the logits.
#pragma once

#include <cstdint>
#include <vector>

#include "app/compare_statistics.h"
#include "base/status.h"
#include "base/thread_pool.h"
#include "exec/runner.h"

namespace motley::app {

// Ids that a side computes before the other side does the same: enough to reuse every weight, while the logits of a
// vocabulary of 256 thousand tokens stay at 64 MB a side.
constexpr uint32_t kCompareChunkTokens = 64;

struct SideBySide {
  exec::Runner& a;
  exec::Runner& b;
  ThreadPool& pool;  // for the figures
};

// Both vocabularies are of one size, both contexts hold the longest window. A position's next token is the one after
// it in its window. Shows its progress on a terminal. Errors: the runners', DataLoss for logits that are no numbers,
// and a quiet end after Ctrl-C.
StatusOr<std::vector<PositionDifference>> run_side_by_side(const SideBySide& sides,
                                                           const std::vector<std::vector<int32_t>>& windows);

}  // namespace motley::app
