#include "cli/shell_completion.h"

#include <fmt/core.h>

#include <algorithm>
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

/// A command with those that it stands below: "/fabric/up". Of softrnic itself: "".
struct Place {
  std::string path;
  const CommandTable& command;
};

void add_places(const CommandTable& command, const std::string& path, std::vector<Place>& places) {
  places.push_back({path, command});
  for (const CommandTable& below : command.commands) add_places(below, path + "/" + below.name, places);
}

std::vector<Place> places_of(const CommandTable& softrnic) {
  std::vector<Place> places;
  add_places(softrnic, "", places);
  return places;
}

/// Of all commands, but not of softrnic itself.
std::vector<std::string> command_paths(const CommandTable& softrnic) {
  std::vector<std::string> paths;
  for (const Place& place : places_of(softrnic))
    if (!place.path.empty()) paths.push_back(place.path);
  return paths;
}

/// The options that may stand behind a command: its own, and those of softrnic itself.
std::vector<OptionRow> options_of(const CommandTable& command, const CommandTable& softrnic) {
  std::vector<OptionRow> rows = command.options;
  for (const OptionRow& row : softrnic.options) {
    const auto has_its_name = [&](const OptionRow& own) { return own.names.back() == row.names.back(); };
    if (std::none_of(command.options.begin(), command.options.end(), has_its_name)) rows.push_back(row);
  }
  return rows;
}

/// A number is not completed; what else has no list of choices may be a file.
bool is_number(const OptionRow& row) {
  return row.value == "UINT" || row.value == "INT" || row.value == "FLOAT";
}

bool takes_files(const CommandTable& command) {
  return std::any_of(command.positionals.begin(), command.positionals.end(),
                     [](const OptionRow& row) { return row.choices.empty() && !is_number(row); });
}

// ---- bash

/// The branches for options that take a value.
std::string bash_values(const CommandTable& softrnic) {
  std::string choices;
  std::vector<std::string> files, numbers;
  for (const Place& place : places_of(softrnic))
    for (const OptionRow& row : place.command.options) {
      if (row.value.empty()) continue;
      std::vector<std::string> patterns;
      for (const std::string& name : row.names) patterns.push_back(place.path + "/" + name);
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

/// The branch for what can stand behind a command.
std::string bash_words(const Place& place, const CommandTable& softrnic) {
  std::vector<std::string> words;
  for (const CommandTable& below : place.command.commands) words.push_back(below.name);
  for (const OptionRow& row : place.command.positionals)
    words.insert(words.end(), row.choices.begin(), row.choices.end());
  for (const OptionRow& row : options_of(place.command, softrnic))
    words.insert(words.end(), row.names.begin(), row.names.end());
  return fmt::format("    {}) COMPREPLY=($(compgen {}-W {} -- \"$word\")) ;;\n",
                     place.path.empty() ? "''" : place.path, takes_files(place.command) ? "-f " : "",
                     shell_word(joined(words)));
}

constexpr const char* kBash = R"(# bash completion of softrnic
_softrnic() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD - 1]}} command='' at
  for ((at = 1; at < COMP_CWORD; at++)); do
    case $command/${{COMP_WORDS[at]}} in
      {paths}) command+=/${{COMP_WORDS[at]}} ;;
    esac
    [[ $command != /run ]] || break
  done
  COMPREPLY=()
  case $command/$before in
{values}  esac
  if [[ $command == /run && $word != -* ]]; then
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
{words}  esac
}}
complete -o filenames -F _softrnic softrnic
)";

// ---- zsh

std::string zsh_text(const std::string& text) {
  return replaced(replaced(replaced(text, '[', "("), ']', ")"), ':', "\\:");
}

/// What stands behind the colon of a value: (a b), _files, or nothing.
std::string zsh_action(const OptionRow& row) {
  if (!row.choices.empty()) return "(" + joined(row.choices) + ")";
  return is_number(row) ? "" : "_files";
}

/// In zsh's _arguments: '(-r --recursive)'{-r,--recursive}'[help]:value:action'.
std::string zsh_option(const OptionRow& row) {
  const std::string rest =
      "[" + zsh_text(row.help) + "]" + (row.value.empty() ? "" : ":" + row.value + ":" + zsh_action(row));
  if (row.names.size() == 1) return shell_word(row.names.front() + rest);
  return shell_word("(" + joined(row.names) + ")") + "{" + joined(row.names, ',') + "}" + shell_word(rest);
}

std::string zsh_positionals(const CommandTable& command) {
  if (command.name == "run") return shell_word("*::program:_normal");
  if (command.positionals.empty()) return shell_word("*: :");
  const OptionRow& row = command.positionals.front();
  return shell_word("*:" + zsh_text(row.names.front()) + ":" + zsh_action(row));
}

/// "/fabric/up": _softrnic_fabric_up.
std::string zsh_function_name(const std::string& path) { return "_softrnic" + replaced(path, '/', "_"); }

/// What stands behind -- is another command line.
constexpr const char* kZshProgram = R"(  local -i dashes=${words[(i)--]}
  if (( dashes < CURRENT )); then
    shift dashes words
    (( CURRENT -= dashes ))
    _normal
    return
  fi
)";

/// The function that completes what stands behind a command.
std::string zsh_function(const Place& place, const CommandTable& softrnic) {
  const CommandTable& command = place.command;
  std::string out = zsh_function_name(place.path) + "() {\n", branches;
  if (!command.commands.empty()) {
    out += "  local curcontext=$curcontext state line\n  local -a commands=(\n";
    for (const CommandTable& below : command.commands) {
      out += "    " + shell_word(below.name + ":" + replaced(below.description, ':', "\\:")) + "\n";
      branches +=
          fmt::format("      {}) {} ;;\n", below.name, zsh_function_name(place.path + "/" + below.name));
    }
    out += "  )\n";
  }
  if (command.name == "run") out += kZshProgram;
  out += command.commands.empty() ? "  _arguments" : "  _arguments -C";
  for (const OptionRow& row : options_of(command, softrnic)) out += " \\\n    " + zsh_option(row);
  if (command.commands.empty()) return out + " \\\n    " + zsh_positionals(command) + "\n}\n";
  return out + fmt::format(
                   " \\\n    '1: :->command' '*:: :->rest'\n  case $state in\n"
                   "    command) _describe command commands ;;\n"
                   "    rest) case $line[1] in\n{}    esac ;;\n  esac\n}}\n",
                   branches);
}

// ---- fish

constexpr const char* kFish = R"(# fish completion of softrnic
set -g __softrnic_commands {paths}
function __softrnic_behind -d 'Whether these commands, and none below them, stand before the cursor'
  set -l words (commandline -opc)
  set -e words[1]
  set -l command ''
  for word in $words
    contains -- "$command/$word" $__softrnic_commands; and set command "$command/$word"
    test "$command" = /run; and break
  end
  test "$command" = "$argv[1]"
end
)";

std::string fish_option(const OptionRow& row) {
  std::string out;
  for (const std::string& name : row.names)
    out += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
  if (!row.choices.empty()) {
    out += " -x -a " + shell_word(joined(row.choices));
  } else if (!row.value.empty()) {
    out += is_number(row) ? " -x" : " -r -F";
  }
  return out + " -d " + shell_word(row.help);
}

/// The program, and then what that program completes. What stands before it: two words, options, and values
/// of these.
std::string fish_program(const CommandTable& run) {
  std::string out = "(__fish_complete_subcommand --fcs-skip=2";
  for (const OptionRow& row : run.options)
    if (!row.value.empty()) out += " " + joined(row.names);
  return " -a " + shell_word(out + ")");
}

}  // namespace

std::string bash_completion(const CommandTable& softrnic) {
  std::string words;
  for (const Place& place : places_of(softrnic)) words += bash_words(place, softrnic);
  return fmt::format(kBash, fmt::arg("paths", joined(command_paths(softrnic), '|')),
                     fmt::arg("values", bash_values(softrnic)), fmt::arg("words", words));
}

std::string zsh_completion(const CommandTable& softrnic) {
  std::string out = "#compdef softrnic\n";
  for (const Place& place : places_of(softrnic)) out += zsh_function(place, softrnic);
  return out + "_softrnic \"$@\"\n";
}

std::string fish_completion(const CommandTable& softrnic) {
  std::string out = fmt::format(kFish, fmt::arg("paths", joined(command_paths(softrnic))));
  for (const Place& place : places_of(softrnic)) {
    const std::string behind = "complete -c softrnic -n " +
                               shell_word("__softrnic_behind " + (place.path.empty() ? "''" : place.path));
    for (const CommandTable& below : place.command.commands)
      out += fmt::format("{} -f -a {} -d {}\n", behind, below.name, shell_word(below.description));
    for (const OptionRow& row : place.command.positionals)
      if (!row.choices.empty()) out += behind + " -f -a " + shell_word(joined(row.choices)) + "\n";
    for (const OptionRow& row : options_of(place.command, softrnic)) out += behind + fish_option(row) + "\n";
    if (place.command.name == "run") {
      out += behind + fish_program(place.command) + "\n";
    } else if (!takes_files(place.command)) {
      out += behind + " -f\n";
    }
  }
  return out;
}

}  // namespace softrnic::cli
