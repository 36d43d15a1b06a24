// Standard output whose failures are noticed: a full disk is an error, a reader that went away is a quiet end.
#pragma once

#include <string_view>

#include "base/json.h"
#include "base/status.h"

namespace motley::app {

// Writes and flushes, so that an answer appears as it grows.
Status print(std::string_view text);
// The same for what a model wrote, in whole characters: a terminal gets pictures of control characters (U+2400 and on)
// in their place, since an answer must not be able to move the cursor or worse. Pipes and files get every byte.
Status print_answer(std::string_view text);
// One line of JSON.
Status print_json(const Json& value);

}  // namespace motley::app
