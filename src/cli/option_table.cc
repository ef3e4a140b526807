#include "cli/option_table.h"

#include <string_view>

namespace softrnic::cli {
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
OptionRow row_of(const CLI::Option& option) {
  OptionRow row;
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

std::vector<const CLI::Option*> all_options(const CLI::App& command) {
  return command.get_options([](const CLI::Option*) { return true; });
}

}  // namespace

std::vector<OptionRow> options_of(const CLI::App& command) {
  std::vector<OptionRow> rows;
  for (const CLI::Option* option : all_options(command)) {
    if (!option->nonpositional()) continue;
    rows.push_back(row_of(*option));
    for (const std::string& name : option->get_snames()) rows.back().names.push_back("-" + name);
    for (const std::string& name : option->get_lnames()) rows.back().names.push_back("--" + name);
  }
  return rows;
}

std::vector<OptionRow> positionals_of(const CLI::App& command) {
  std::vector<OptionRow> rows;
  for (const CLI::Option* option : all_options(command)) {
    if (!option->get_positional()) continue;
    rows.push_back(row_of(*option));
    rows.back().names = {option->get_name(true, false)};
  }
  return rows;
}

std::vector<const CLI::App*> commands_of(const CLI::App& command) {
  return command.get_subcommands([](const CLI::App*) { return true; });
}

}  // namespace softrnic::cli
