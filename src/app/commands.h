// Every command of the program: one file in commands/ and one line in commands.def each.
#pragma once

#include "app/arguments.h"

namespace motley::app {

// Each adds its command, its options and what it does.
#define MOTLEY_COMMAND(name) void add_##name(CommandLine& line);
#include "app/commands.def"
#undef MOTLEY_COMMAND

// All of them, in the list's order.
void add_commands(CommandLine& line);

}  // namespace motley::app
