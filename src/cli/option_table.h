// The grammar of a command as rows, from which the manual pages and the completions are made.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace softrnic::cli {

struct OptionRow {
  std::vector<std::string> names;    ///< "-r", "--recursive"; of a positional its one name
  std::string value;                 ///< what stands for its value, "UINT"; empty: it has none
  std::vector<std::string> choices;  ///< the values there are; empty: any
  std::string limits;                ///< "1 - 8"; empty: none
  std::string help;
  bool required = false;
};

/// Options with dashes, in the order of --help.
std::vector<OptionRow> options_of(const CLI::App& command);
std::vector<OptionRow> positionals_of(const CLI::App& command);
/// Commands below this one, in the order of --help.
std::vector<const CLI::App*> commands_of(const CLI::App& command);

}  // namespace softrnic::cli
