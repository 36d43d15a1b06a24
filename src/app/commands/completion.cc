#include <memory>

#include "app/commands.h"
#include "app/completion.h"
#include "app/output.h"

namespace motley::app {

void add_completion(CommandLine& line) {
  Arguments command = line.root().command("completion", "Print a completion script for a shell");
  auto shell = std::make_shared<Shell>(Shell::kBash);
  command.choice("SHELL", *shell, {{"bash", Shell::kBash}, {"zsh", Shell::kZsh}, {"fish", Shell::kFish}},
                 "Which shell");
  command.examples(R"(  source <(motley completion bash)
  motley completion fish > ~/.config/fish/completions/motley.fish)");
  command.action([shell, &line] { return print(completion_script(line.tree(), *shell)); });
}

}  // namespace motley::app
