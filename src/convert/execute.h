// Carries a plan out: streams every weight from the source into the target's files, a few rows at a time, and says what
// each became. Memory: the rows in flight, and one weight where the target cannot be written row by row (GPTQ).
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/thread_pool.h"
#include "convert/output_set.h"
#include "convert/plan.h"
#include "convert/row_block.h"

namespace motley::convert {

struct WeightReport {
  std::string name;
  std::string from, to;  // formats
  Difference difference;
  uint64_t bytes = 0;  // in the target
};

// Called with the source's bytes that are done and that there are; an error ends the conversion with it.
using OnProgress = std::function<Status(uint64_t done_bytes, uint64_t total_bytes)>;

// `out` may be null: everything is computed and nothing is written.
StatusOr<std::vector<WeightReport>> execute(const Plan& plan, OutputSet* out, ThreadPool& pool,
                                            const OnProgress& on_progress);

}  // namespace motley::convert
