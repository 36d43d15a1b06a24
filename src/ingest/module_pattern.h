// Regular expressions over module names, as configurations of quantisers write them (Python's syntax, matched from the
// start of the name). The one place that knows the regex library; safe on any pattern: linear time, bounded memory.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"

namespace motley::ingest {

// Rejects a pattern that is no regular expression or too large ("methods.pattern").
StatusOr<bool> matches_at_start(const std::string& pattern, std::string_view text, std::string_view where);

}  // namespace motley::ingest
