#include "app/commands.h"
#include "app/exit_status.h"
#include "app/interrupt.h"

int main(int count, char** words) {
  namespace app = motley::app;
  app::ignore_broken_pipes();
  app::CommandLine line("motley", "motley runs language models from the files they were published in.",
                        "motley " MOTLEY_VERSION);
  app::add_commands(line);
  return static_cast<int>(app::report(line.run(count, words)));
}
