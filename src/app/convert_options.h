// The options of `motley convert` that are more than a word: sizes, and formats of single modules.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"

namespace motley::app {

// "500MB", "5GB", "65536": decimal units, as transformers reads them. A usage error otherwise.
StatusOr<uint64_t> parse_size_bytes(std::string_view option, std::string_view text);

// "GLOB=WHAT" of each --module, after the lines of `recipe_file` that say the same (# begins a comment).
StatusOr<std::vector<std::pair<std::string, std::string>>> parse_modules(const std::vector<std::string>& given,
                                                                         const std::optional<std::string>& recipe_file);

}  // namespace motley::app
