// A grammar as rows, from which manual pages and completions are made.
#pragma once

#include <string>
#include <vector>

#include "grammar/command.h"

namespace softrnic::grammar {

struct OptionRow {
  std::vector<std::string> names;    ///< "-r", "--recursive"; of a positional its one name
  std::string value;                 ///< what stands for its value, "UINT"; empty: it has none
  std::vector<std::string> choices;  ///< the values there are; empty: any
  std::string limits;                ///< "1 - 8"; empty: none
  std::string help;
  bool required = false;
};

/// All in the order of --help.
struct CommandTable {
  std::string name, description, footer;
  std::vector<OptionRow> options;  ///< with dashes
  std::vector<OptionRow> positionals;
  std::vector<CommandTable> commands;  ///< below this one
};

CommandTable table_of(const Command& command);

}  // namespace softrnic::grammar
