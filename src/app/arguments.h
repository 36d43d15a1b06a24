// The command line: options, positional arguments and subcommands, each bound to a variable. A wall around CLI11, which
// only arguments.cc sees. What a command does with its values is the command's business.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"

namespace CLI {  // NOLINT(readability-identifier-naming): the library's own name
class App;
}

namespace motley::app {

class CommandLine;

// One command (or group of commands) under construction. A cheap handle: copies mean the same command, and it is valid
// as long as the CommandLine it came from. Variables must outlive parsing; actions own theirs.
class Arguments {
 public:
  Arguments(CommandLine* line, CLI::App* command) : line_(line), command_(command) {}

  // The subcommand `name`, made when it is not there yet.
  Arguments command(const std::string& name, const std::string& summary);
  // Shown after the options in --help.
  void examples(const std::string& text);

  // `names`: "-n,--tokens N" for an option with what --help calls its value, "MODEL" for a positional argument. T is
  // one of std::string, bool (a flag), uint32_t, std::optional of a string, uint32_t, uint64_t or double, and vectors
  // of strings (repeatable) and of ids (separated by commas).
  template <typename T>
  void value(const std::string& names, T& target, const std::string& help);
  template <typename T>
  void required(const std::string& names, T& target, const std::string& help);
  // One of a few words.
  template <typename Enum>
  void choice(const std::string& names, Enum& target, std::vector<std::pair<std::string, Enum>> words,
              const std::string& help);

  // Options (by one of their names) that contradict each other: a wrong command line.
  void contradicts(const std::string& name, const std::string& other);
  void needs(const std::string& name, const std::string& other);
  // The environment variable that stands in for an option which is not given.
  void environment(const std::string& name, const std::string& variable);

  // What the command does once its line has been read.
  void action(std::function<Status()> run);

 private:
  void words(const std::string& names, const std::vector<std::string>& allowed, std::function<void(size_t)> chosen,
             const std::string& help, const std::string& initial);

  CommandLine* line_;
  CLI::App* command_;
};

// What completion scripts need to know of a command: its words from the root, its subcommands and options with their
// help.
struct CommandNode {
  struct Option {
    std::vector<std::string> names;  // with their dashes
    std::string help;
    bool takes_value = false, takes_file = false;
    std::vector<std::string> values;  // when only these are possible
  };
  std::string name;
  std::string summary;
  std::vector<Option> options;
  bool takes_path = false;  // has a positional argument
  std::vector<CommandNode> commands;
};

class CommandLine {
 public:
  CommandLine(std::string name, std::string summary, const std::string& version);
  ~CommandLine();

  Arguments root() { return {this, app_.get()}; }
  CommandNode tree() const;

  // Reads the line and runs the command it names. A wrong line is a usage_error(); --help and --version print and are
  // OK.
  Status run(int count, const char* const* words);

 private:
  friend class Arguments;
  std::unique_ptr<CLI::App> app_;
  std::function<Status()> chosen_;
};

template <typename Enum>
void Arguments::choice(const std::string& names, Enum& target, std::vector<std::pair<std::string, Enum>> choices,
                       const std::string& help) {
  std::vector<std::string> allowed;
  std::string initial;
  for (const auto& [word, meaning] : choices) {
    allowed.push_back(word);
    if (meaning == target) initial = word;
  }
  words(
      names, allowed, [&target, choices](size_t index) { target = choices[index].second; }, help, initial);
}

}  // namespace motley::app
