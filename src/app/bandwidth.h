// How fast this machine reads memory, as the measure of how fast a model could be decoded at best.
#pragma once

#include <cstdint>

#include "base/status.h"

namespace motley::app {

// The best of a few passes of `threads` (0: the default number) over a block that no cache holds. Takes well under a
// second.
StatusOr<double> read_bandwidth_bytes_per_s(uint32_t threads);

}  // namespace motley::app
