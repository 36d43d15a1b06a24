#include "app/commands.h"
#include "app/exit_status.h"
#include "app/interrupt.h"

int main(int count, char** words) {
  using namespace motley::app;
  ignore_broken_pipes();
  CommandLine line("motley", "motley runs language models from the files they were published in.",
                   "motley " MOTLEY_VERSION);
  add_commands(line);
  return static_cast<int>(report(line.run(count, words)));
}
