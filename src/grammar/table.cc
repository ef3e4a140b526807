#include "grammar/table.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string_view>
#include <utility>

namespace softrnic::grammar {
namespace {

/// What stands between the first `open` and the `close` after it.
std::string_view between(std::string_view text, char open, char close) {
  const std::size_t from = text.find(open);
  const std::size_t to = text.find(close, from);
  return to == std::string_view::npos ? std::string_view() : text.substr(from + 1, to - from - 1);
}

std::vector<std::string> split(std::string_view text, char at) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(at), text.size());
    parts.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

/// CLI11 writes the type and what validates it as one: "TEXT:{a,b}", "UINT:INT in [1 - 8]".
OptionRow row_of(const CLI::Option& option, std::vector<std::string> names) {
  OptionRow row;
  row.names = std::move(names);
  const std::string type = option.get_type_name();
  if (option.get_items_expected_max() > 0) {
    row.value = type.substr(0, type.find(':'));
    row.choices = split(between(type, '{', '}'), ',');
    if (type.find(" in [") != std::string::npos) row.limits = between(type, '[', ']');
  }
  row.help = option.get_description();
  row.required = option.get_required();
  return row;
}

std::vector<std::string> dashed_names_of(const CLI::Option& option) {
  std::vector<std::string> names;
  for (const std::string& name : option.get_snames()) names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) names.push_back("--" + name);
  return names;
}

CommandTable table_of(const CLI::App& app) {
  CommandTable table{app.get_name(), app.get_description(), app.get_footer(), {}, {}, {}};
  for (const CLI::Option* option : app.get_options([](const CLI::Option*) { return true; })) {
    if (option->nonpositional()) table.options.push_back(row_of(*option, dashed_names_of(*option)));
    if (option->get_positional())
      table.positionals.push_back(row_of(*option, {option->get_name(true, false)}));
  }
  for (const CLI::App* below : app.get_subcommands([](const CLI::App*) { return true; }))
    table.commands.push_back(table_of(*below));
  return table;
}

}  // namespace

CommandTable table_of(const Command& command) { return table_of(command.app()); }

}  // namespace softrnic::grammar
