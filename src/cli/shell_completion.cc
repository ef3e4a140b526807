#include "cli/shell_completion.h"

#include <fmt/format.h>

#include <string_view>
#include <vector>

namespace softrnic::cli {
namespace {

using grammar::CommandTable;
using grammar::OptionRow;

std::string replaced(std::string_view text, char what, std::string_view by) {
  std::string out;
  for (const char c : text) c == what ? out += by : out += c;
  return out;
}

/// One word of a shell, whatever is in it.
std::string shell_word(std::string_view text) { return "'" + replaced(text, '\'', "'\\''") + "'"; }

std::string joined(const std::vector<std::string>& words, char by = ' ') {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : std::string(1, by)) + word;
  return out;
}

std::vector<std::string> option_names(const CommandTable& command) {
  std::vector<std::string> names;
  for (const OptionRow& row : command.options) names.insert(names.end(), row.names.begin(), row.names.end());
  return names;
}

std::vector<std::string> command_names(const CommandTable& command) {
  std::vector<std::string> names;
  for (const CommandTable& below : command.commands) names.push_back(below.name);
  return names;
}

/// A number is not completed; what else has no list of choices may be a file.
bool is_number(const OptionRow& row) {
  return row.value == "UINT" || row.value == "INT" || row.value == "FLOAT";
}

/// The branches of bash for options that take a value.
std::string bash_values(const CommandTable& softrnic) {
  std::string choices;
  std::vector<std::string> files, numbers;
  for (const CommandTable& command : softrnic.commands)
    for (const OptionRow& row : command.options) {
      if (row.value.empty()) continue;
      std::vector<std::string> patterns;
      for (const std::string& name : row.names) patterns.push_back(command.name + "/" + name);
      if (!row.choices.empty()) {
        choices += fmt::format("    {}) COMPREPLY=($(compgen -W {} -- \"$word\")); return ;;\n",
                               joined(patterns, '|'), shell_word(joined(row.choices)));
      } else {
        std::vector<std::string>& like = is_number(row) ? numbers : files;
        like.insert(like.end(), patterns.begin(), patterns.end());
      }
    }
  return choices +
         fmt::format("    {}) COMPREPLY=($(compgen -f -- \"$word\")); return ;;\n    {}) return ;;\n",
                     joined(files, '|'), joined(numbers, '|'));
}

constexpr const char* kBash = R"(# bash completion of softrnic
_softrnic() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD - 1]}} command='' at
  for ((at = 1; at < COMP_CWORD; at++)); do
    [[ ${{COMP_WORDS[at]}} == -* ]] || {{ command=${{COMP_WORDS[at]}}; break; }}
  done
  COMPREPLY=()
  case $command/$before in
{values}  esac
  if [[ $command == run && $word != -* ]]; then
    # The program, and then what that program completes.
    if [[ $before == run || $before == --* ]] || ! declare -F _command_offset >/dev/null; then
      COMPREPLY=($(compgen -c -- "$word"))
    else
      for ((at++; at < COMP_CWORD; at++)); do [[ ${{COMP_WORDS[at]}} == -* ]] || break; done
      _command_offset "$at"
    fi
    return
  fi
  case $command in
    '') COMPREPLY=($(compgen -W {top} -- "$word")) ;;
{commands}  esac
}}
complete -o filenames -F _softrnic softrnic
)";

/// In zsh's _arguments: '(-r --recursive)'{-r,--recursive}'[help]:value:action'.
std::string zsh_option(const OptionRow& row) {
  std::string help = replaced(replaced(row.help, '[', "("), ']', ")");
  help = replaced(help, ':', "\\:");
  std::string value;
  if (!row.value.empty())
    value = ":" + row.value + ":" +
            (!row.choices.empty() ? "(" + joined(row.choices) + ")"
             : is_number(row)     ? ""
                                  : "_files");
  if (row.names.size() == 1) return shell_word(row.names.front() + "[" + help + "]" + value);
  return shell_word("(" + joined(row.names) + ")") + "{" + joined(row.names, ',') + "}" +
         shell_word("[" + help + "]" + value);
}

std::string zsh_arguments(const CommandTable& command) {
  std::string out = fmt::format("        {}) _arguments", command.name);
  for (const OptionRow& row : command.options) out += " \\\n          " + zsh_option(row);
  if (command.name == "run") return out + " \\\n          '*::program:_normal' ;;\n";
  const auto below = command_names(command);
  out += " \\\n          " +
         (below.empty() ? "'*:file:_files'" : shell_word("1:command:(" + joined(below) + ")"));
  return out + " ;;\n";
}

}  // namespace

std::string bash_completion(const CommandTable& softrnic) {
  std::string commands;
  for (const CommandTable& command : softrnic.commands) {
    auto words = command_names(command);
    for (std::string& name : option_names(command)) words.push_back(std::move(name));
    const bool files = !command.positionals.empty();
    commands += fmt::format("    {}) COMPREPLY=($(compgen {}-W {} -- \"$word\")) ;;\n", command.name,
                            files ? "-f " : "", shell_word(joined(words)));
  }
  auto top = command_names(softrnic);
  for (std::string& name : option_names(softrnic)) top.push_back(std::move(name));
  return fmt::format(kBash, fmt::arg("values", bash_values(softrnic)),
                     fmt::arg("top", shell_word(joined(top))), fmt::arg("commands", commands));
}

std::string zsh_completion(const CommandTable& softrnic) {
  std::string out = "#compdef softrnic\n_softrnic() {\n  local -a commands=(\n";
  for (const CommandTable& command : softrnic.commands)
    out += "    " + shell_word(command.name + ":" + replaced(command.description, ':', "\\:")) + "\n";
  out += "  )\n  local state line\n  _arguments -C";
  for (const OptionRow& row : softrnic.options) out += " \\\n    " + zsh_option(row);
  out +=
      " \\\n    '1: :->command' '*:: :->rest'\n  case $state in\n    command) _describe command commands "
      ";;\n";
  out += "    rest)\n      case $line[1] in\n";
  for (const CommandTable& command : softrnic.commands) out += zsh_arguments(command);
  return out + "      esac ;;\n  esac\n}\n_softrnic \"$@\"\n";
}

std::string fish_completion(const CommandTable& softrnic) {
  std::string out = "# fish completion of softrnic\n";
  for (const CommandTable& command : softrnic.commands) {
    const std::string& name = command.name;
    out += fmt::format("complete -c softrnic -n __fish_use_subcommand -f -a {} -d {}\n", name,
                       shell_word(command.description));
    for (const CommandTable& below : command.commands)
      out += fmt::format("complete -c softrnic -n '__fish_seen_subcommand_from {}' -f -a {} -d {}\n", name,
                         below.name, shell_word(below.description));
    for (const OptionRow& row : command.options) {
      out += fmt::format("complete -c softrnic -n '__fish_seen_subcommand_from {}'", name);
      for (const std::string& option : row.names)
        out += option.starts_with("--") ? " -l " + option.substr(2) : " -s " + option.substr(1);
      if (!row.value.empty())
        out += row.choices.empty() ? " -r" : " -x -a " + shell_word(joined(row.choices));
      out += " -d " + shell_word(row.help) + "\n";
    }
  }
  return out +
         "complete -c softrnic -n '__fish_seen_subcommand_from run' -a '(__fish_complete_subcommand)'\n";
}

}  // namespace softrnic::cli
