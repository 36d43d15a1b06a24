// Completion scripts for shells, written from the program's own commands and options, so that they cannot fall behind.
#pragma once

#include <cstdint>
#include <string>

#include "app/arguments.h"

namespace motley::app {

enum class Shell : uint8_t { kBash, kZsh, kFish };

std::string completion_script(const CommandNode& root, Shell shell);

}  // namespace motley::app
