// Where a prompt or another text comes from: the command line, standard input, a file.
#pragma once

#include <optional>
#include <string>

#include "base/status.h"

namespace motley::app {

// The argument; or what is piped in (a pipe or a file, without its last newline); or both, with a blank line between,
// as `git diff | motley run MODEL "Explain this:"` means it. nullopt when there is neither and a person could type. A
// usage error when there is neither and nobody could.
StatusOr<std::optional<std::string>> read_prompt(const std::optional<std::string>& argument);

// All of standard input, to the byte.
StatusOr<std::string> read_standard_input();

// All of a file, or of standard input when `path` is "-".
StatusOr<std::string> read_text(const std::string& path);

}  // namespace motley::app
