#include "app/arguments.h"

#include <algorithm>
#include <iostream>

#include "CLI/CLI.hpp"
#include "app/exit_status.h"

namespace motley::app {
namespace {

// Wide enough for the longest option with its value; help texts start after it.
constexpr size_t kHelpColumn = 36;

template <typename T>
CLI::Option* add(CLI::App& command, const std::string& names, T& target, const std::string& help) {
  return command.add_option(names, target, help)->expected(1);
}

CLI::Option* add(CLI::App& command, const std::string& names, bool& target, const std::string& help) {
  return command.add_flag(names, target, help);
}

// Strings go through callbacks: CLI11 itself takes an empty string for an absent one.
template <typename Text>
CLI::Option* add_text(CLI::App& command, const std::string& names, Text& target, const std::string& help) {
  const auto keep = [&target](const CLI::results_t& results) {
    target = results.back();
    return true;
  };
  return command.add_option(names, keep, help)->expected(1);
}

CLI::Option* add(CLI::App& command, const std::string& names, std::string& target, const std::string& help) {
  return add_text(command, names, target, help);
}

CLI::Option* add(CLI::App& command, const std::string& names, std::optional<std::string>& target,
                 const std::string& help) {
  return add_text(command, names, target, help);
}

CLI::Option* add(CLI::App& command, const std::string& names, std::vector<std::string>& target,
                 const std::string& help) {
  const auto keep = [&target](const CLI::results_t& results) {
    target = results;
    return true;
  };
  return command.add_option(names, keep, help)->expected(1)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

CLI::Option* add(CLI::App& command, const std::string& names, std::vector<int32_t>& target, const std::string& help) {
  return command.add_option(names, target, help)->delimiter(',')->allow_extra_args(false);
}

// Adds "--override KEY=VALUE" as the option --override whose value --help calls KEY=VALUE.
template <typename T>
CLI::Option* add_named(CLI::App& command, const std::string& names, T& target, const std::string& help) {
  const size_t space = std::min(names.find(' '), names.size());
  CLI::Option* option = add(command, names.substr(0, space), target, help);
  if (option->get_items_expected_max() > 0) option->type_name(space < names.size() ? names.substr(space + 1) : "");
  return option;
}

// What contradicts what is for the error, not for --help.
class HelpFormatter final : public CLI::Formatter {
 public:
  std::string make_option_opts(const CLI::Option* option) const override {
    if (option->get_items_expected_max() == 0 || option->get_type_name().empty()) return "";
    std::string text = " " + option->get_type_name();
    if (!option->get_default_str().empty()) text += " (" + option->get_default_str() + ")";
    return text;
  }
};

std::vector<std::string> split_words(const std::string& text, char separator) {
  std::vector<std::string> words = CLI::detail::split(text, separator);
  return words.size() > 1 ? words : std::vector<std::string>();
}

CommandNode::Option describe(const CLI::Option& option) {
  CommandNode::Option result;
  result.help = option.get_description();
  result.takes_value = option.get_items_expected_max() > 0;
  result.takes_file = option.get_type_name() == "FILE";
  result.values = split_words(option.get_type_name(), '|');
  for (const std::string& name : option.get_snames()) result.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) result.names.push_back("--" + name);
  return result;
}

CommandNode describe(const CLI::App& command) {
  CommandNode node;
  node.name = command.get_name();
  node.summary = command.get_description();
  for (const CLI::Option* option : command.get_options())
    if (option->get_positional())
      node.takes_path = true;
    else
      node.options.push_back(describe(*option));
  for (const CLI::App* inner : command.get_subcommands([](const CLI::App*) { return true; }))
    node.commands.push_back(describe(*inner));
  return node;
}

// "motley debug tokens": where --help is to be asked for.
std::string deepest_command(const CLI::App& root) {
  std::string words = root.get_name();
  for (const CLI::App* command = &root; !command->get_subcommands().empty();) {
    command = command->get_subcommands().front();
    words += " " + command->get_name();
  }
  return words;
}

}  // namespace

Arguments Arguments::command(const std::string& name, const std::string& summary) {
  for (CLI::App* known : command_->get_subcommands([&](const CLI::App* other) { return other->get_name() == name; }))
    return {line_, known};
  command_->require_subcommand(1);
  return {line_, command_->add_subcommand(name, summary)};
}

void Arguments::examples(const std::string& text) { command_->footer("Examples:\n" + text); }

template <typename T>
void Arguments::value(const std::string& names, T& target, const std::string& help) {
  add_named(*command_, names, target, help);
}

template <typename T>
void Arguments::required(const std::string& names, T& target, const std::string& help) {
  add_named(*command_, names, target, help)->required();
}

template void Arguments::value(const std::string&, bool&, const std::string&);
template void Arguments::value(const std::string&, std::string&, const std::string&);
template void Arguments::value(const std::string&, std::optional<std::string>&, const std::string&);
template void Arguments::value(const std::string&, std::vector<std::string>&, const std::string&);
template void Arguments::value(const std::string&, uint32_t&, const std::string&);
template void Arguments::value(const std::string&, std::optional<uint32_t>&, const std::string&);
template void Arguments::value(const std::string&, std::optional<uint64_t>&, const std::string&);
template void Arguments::value(const std::string&, std::optional<double>&, const std::string&);
template void Arguments::value(const std::string&, std::vector<int32_t>&, const std::string&);
template void Arguments::required(const std::string&, std::string&, const std::string&);
template void Arguments::required(const std::string&, std::vector<int32_t>&, const std::string&);

void Arguments::words(const std::string& names, const std::vector<std::string>& allowed,
                      std::function<void(size_t)> chosen, const std::string& help, const std::string& initial) {
  const std::string type = CLI::detail::join(allowed, "|");
  const auto keep = [allowed, chosen = std::move(chosen)](const CLI::results_t& results) {
    const auto found = std::find(allowed.begin(), allowed.end(), results.back());
    if (found != allowed.end()) chosen(static_cast<size_t>(found - allowed.begin()));
    return found != allowed.end();
  };
  CLI::Option* option = command_->add_option(names, keep, help)->type_name(type)->expected(1);
  option->default_str(initial);
  const auto known = [allowed, type](const std::string& word) {
    return std::find(allowed.begin(), allowed.end(), word) != allowed.end() ? "" : "expected " + type + ", got " + word;
  };
  option->check(known, "", "");
}

void Arguments::contradicts(const std::string& name, const std::string& other) {
  command_->get_option(name)->excludes(command_->get_option(other));
}

void Arguments::needs(const std::string& name, const std::string& other) {
  command_->get_option(name)->needs(command_->get_option(other));
}

void Arguments::environment(const std::string& name, const std::string& variable) {
  command_->get_option(name)->envname(variable);
}

void Arguments::action(std::function<Status()> run) {
  command_->callback([line = line_, run = std::move(run)] { line->chosen_ = run; });
}

CommandLine::CommandLine(std::string name, std::string summary, const std::string& version)
    : app_(std::make_unique<CLI::App>(std::move(summary), std::move(name))) {
  app_->set_version_flag("--version", version, "Print the version and exit");
  auto formatter = std::make_shared<HelpFormatter>();
  formatter->column_width(kHelpColumn);
  app_->formatter(formatter);
}

CommandLine::~CommandLine() = default;

CommandNode CommandLine::tree() const { return describe(*app_); }

Status CommandLine::run(int count, const char* const* words) {
  try {
    app_->parse(count, words);
  } catch (const CLI::Success& wanted) {
    app_->exit(wanted, std::cout, std::cerr);
    return absl::OkStatus();
  } catch (const CLI::ParseError& wrong) {
    return usage_error(fmt::format("{} (see {} --help)", wrong.what(), deepest_command(*app_)));
  }
  return chosen_();
}

}  // namespace motley::app
