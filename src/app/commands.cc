#include "app/commands.h"

namespace motley::app {

void add_commands(CommandLine& line) {
#define MOTLEY_COMMAND(name) add_##name(line);
#include "app/commands.def"
#undef MOTLEY_COMMAND
}

}  // namespace motley::app
