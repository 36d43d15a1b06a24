#include "app/completion.h"

#include <functional>

#include "fmt/format.h"

namespace motley::app {
namespace {

// Calls `visit` for each command with its words below the program's name: "", "run", "debug", "debug tokens".
void walk(const CommandNode& node, const std::string& words,
          const std::function<void(const std::string& words, const CommandNode&)>& visit) {
  visit(words, node);
  for (const CommandNode& inner : node.commands)
    walk(inner, words.empty() ? inner.name : fmt::format("{} {}", words, inner.name), visit);
}

std::string quoted(const std::string& text) {
  std::string result = "'";
  for (const char c : text) result += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return result + "'";
}

std::string names_of(const CommandNode& node) {
  std::string names;
  for (const CommandNode& inner : node.commands) names += inner.name + " ";
  for (const CommandNode::Option& option : node.options)
    for (const std::string& name : option.names) names += name + " ";
  if (!names.empty()) names.pop_back();
  return names;
}

std::string values_of(const CommandNode::Option& option) {
  std::string values;
  for (const std::string& value : option.values) values += value + " ";
  if (!values.empty()) values.pop_back();
  return values;
}

std::string bash_value(const CommandNode::Option& option) {
  if (option.takes_file) return "COMPREPLY=($(compgen -f -- \"$word\")); return";
  if (option.values.empty()) return "return";
  return fmt::format("COMPREPLY=($(compgen -W {} -- \"$word\")); return", quoted(values_of(option)));
}

// What may follow an option: its fixed choice of values, a file, or something that nobody can guess.
std::string bash_values(const CommandNode& root) {
  std::string cases;
  walk(root, "", [&](const std::string& words, const CommandNode& node) {
    for (const CommandNode::Option& option : node.options)
      for (const std::string& name : option.names)
        if (option.takes_value)
          cases += fmt::format("  {}) {} ;;\n", quoted(fmt::format("{}:{}", words, name)), bash_value(option));
  });
  return cases;
}

std::string bash_commands(const CommandNode& root) {
  std::string cases;
  walk(root, "", [&](const std::string& words, const CommandNode& node) {
    cases += fmt::format("  {}) names={} ;;\n", quoted(words), quoted(names_of(node)));
  });
  return cases;
}

// Which words of the line name a command, as a pattern for the loop that collects them.
std::string bash_known(const CommandNode& root) {
  std::string patterns;
  walk(root, "", [&](const std::string& words, const CommandNode&) {
    if (words.empty()) return;
    if (!patterns.empty()) patterns += '|';
    patterns += quoted(words);
  });
  return patterns;
}

std::string bash(const CommandNode& root) {
  return fmt::format(R"(# bash completion for {0}; made by `{0} completion bash`
_{0}() {{
  local word="${{COMP_WORDS[COMP_CWORD]}}" previous="${{COMP_WORDS[COMP_CWORD-1]}}" command="" next names="" i
  for ((i = 1; i < COMP_CWORD; i++)); do
    next="${{command:+$command }}${{COMP_WORDS[i]}}"
    case "$next" in
    {1}) command="$next" ;;
    *) break ;;
    esac
  done
  case "$command:$previous" in
{2}  esac
  case "$command" in
{3}  esac
  COMPREPLY=($(compgen -W "$names" -- "$word"))
  [[ "$word" == -* ]] || COMPREPLY+=($(compgen -f -- "$word"))
}}
complete -o filenames -F _{0} {0}
)",
                     root.name, bash_known(root), bash_values(root), bash_commands(root));
}

// zsh runs bash's completion functions; one script less to go wrong.
std::string zsh(const CommandNode& root) {
  return fmt::format(
      "#compdef {0}\nautoload -U +X compinit && compinit\nautoload -U +X bashcompinit && bashcompinit\n{1}", root.name,
      bash(root));
}

std::string fish_condition(const std::string& words) {
  if (words.empty()) return "__fish_use_subcommand";
  std::string condition;
  for (size_t begin = 0; begin < words.size();) {
    const size_t end = std::min(words.find(' ', begin), words.size());
    condition += condition.empty() ? "" : "; and ";
    condition += fmt::format("__fish_seen_subcommand_from {}", words.substr(begin, end - begin));
    begin = end + 1;
  }
  return condition;
}

std::string fish_option(const CommandNode::Option& option) {
  std::string line;
  for (const std::string& name : option.names)
    line += name.starts_with("--") ? fmt::format(" -l {}", name.substr(2)) : fmt::format(" -s {}", name.substr(1));
  if (option.takes_file) line += " -r";
  if (option.takes_value && !option.takes_file) line += fmt::format(" -x -a {}", quoted(values_of(option)));
  return fmt::format("{} -d {}", line, quoted(option.help));
}

std::string fish(const CommandNode& root) {
  std::string script = fmt::format("# fish completion for {0}; made by `{0} completion fish`\n", root.name);
  walk(root, "", [&](const std::string& words, const CommandNode& node) {
    const std::string prefix = fmt::format("complete -c {} -n {}", root.name, quoted(fish_condition(words)));
    for (const CommandNode& inner : node.commands)
      script += fmt::format("{} -f -a {} -d {}\n", prefix, inner.name, quoted(inner.summary));
    for (const CommandNode::Option& option : node.options) script += prefix + fish_option(option) + "\n";
  });
  return script;
}

}  // namespace

std::string completion_script(const CommandNode& root, Shell shell) {
  switch (shell) {
    case Shell::kBash:
      return bash(root);
    case Shell::kZsh:
      return zsh(root);
    case Shell::kFish:
      return fish(root);
  }
  return "";
}

}  // namespace motley::app
