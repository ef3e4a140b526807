#include "cli/man_page.h"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <sstream>

#include "base/settings.h"

namespace softrnic::cli {
namespace {

using grammar::CommandTable;
using grammar::OptionRow;

/// Text as itself: a hyphen of an option is no hyphenation, and no line begins a request.
std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else {
      if ((c == '.' || c == '\'') && (out.empty() || out.back() == '\n')) out += "\\&";
      out += c;
    }
  }
  return out;
}

std::string bold(std::string_view text) { return fmt::format("\\fB{}\\fR", escaped(text)); }
std::string italic(std::string_view text) { return fmt::format("\\fI{}\\fR", escaped(text)); }

std::string title(std::string name, int section) {
  std::replace(name.begin(), name.end(), ' ', '-');
  for (char& c : name) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return fmt::format(".TH \"{}\" {} \"\" \"softrnic {}\"\n", escaped(name), section, SOFTRNIC_VERSION);
}

/// The one line that apropos(1) shows: without the name, a usage after it, and a full stop.
std::string summary(std::string_view text, std::string_view name) {
  if (text.starts_with(name) && text.substr(name.size()).starts_with(": "))
    text.remove_prefix(name.size() + 2);
  text = text.substr(0, text.find(fmt::format(": {} [", name.substr(name.rfind(' ') + 1))));
  while (text.ends_with('.')) text.remove_suffix(1);
  return std::string(text);
}

std::string positionals_line(const CommandTable& command) {
  std::string out;
  for (const OptionRow& row : command.positionals)
    out += row.required ? " " + italic(row.names.front()) : " [" + italic(row.names.front()) + "]";
  return out;
}

std::string synopsis(const CommandTable& command, const std::string& name) {
  std::string out = bold(name) + " [" + italic("OPTIONS") + "]" + positionals_line(command);
  if (!command.commands.empty()) out += " [" + italic("COMMAND") + "]";
  if (name == "softrnic run")
    out += " [" + bold("--") + "] " + italic("PROGRAM") + " [" + italic("ARGUMENTS...") + "]";
  return out + "\n";
}

std::string head_of(const OptionRow& row) {
  std::string out;
  for (const std::string& name : row.names) out += (out.empty() ? "" : ", ") + bold(name);
  if (row.choices.empty()) return row.value.empty() ? out : out + " " + italic(row.value);
  std::string choices;
  for (const std::string& choice : row.choices) choices += (choices.empty() ? "" : "|") + bold(choice);
  return out + " " + choices;
}

std::string item(const std::string& head, const std::string& text) {
  return fmt::format(".TP\n{}\n{}\n", head, text);
}

std::string list_of_options(const CommandTable& command) {
  std::string out;
  for (const OptionRow& row : command.options)
    out +=
        item(head_of(row), escaped(row.help) + (row.limits.empty() ? "" : escaped(" (" + row.limits + ")")));
  return out;
}

/// Indented lines are examples, others prose.
std::string footer_of(const CommandTable& command) {
  std::string examples, notes, line;
  std::istringstream lines(command.footer);
  while (std::getline(lines, line)) {
    if (line == "Examples:") continue;
    (line.starts_with("  ") ? examples : notes) +=
        escaped(line.starts_with("  ") ? line.substr(2) : line) + "\n";
  }
  std::string out;
  if (!examples.empty()) out += ".SH EXAMPLES\n.nf\n" + examples + ".fi\n";
  if (!notes.empty()) out += ".SH NOTES\n" + notes;
  return out;
}

/// A command below another has no page of its own.
std::string list_of_commands(const CommandTable& command, const std::string& name, bool have_pages) {
  std::string out;
  for (const CommandTable& below : command.commands) {
    const std::string head = bold(name + " " + below.name) + positionals_line(below);
    out += item(head, escaped(below.description) +
                          (have_pages ? escaped(fmt::format("; see softrnic-{}(1)", below.name)) : ""));
    if (have_pages) continue;
    for (const OptionRow& row : below.options)
      if (row.names.back() != "--help") out += ".RS\n" + item(head_of(row), escaped(row.help)) + ".RE\n";
  }
  return out;
}

}  // namespace

std::string man_page(const CommandTable& command, const std::string& name, int section) {
  std::string page_name = name;
  std::replace(page_name.begin(), page_name.end(), ' ', '-');
  std::string out = title(name, section);
  out +=
      fmt::format(".SH NAME\n{} \\- {}\n", escaped(page_name), escaped(summary(command.description, name)));
  out += ".SH SYNOPSIS\n" + synopsis(command, name);
  if (const auto rows = command.positionals; !rows.empty()) {
    out += ".SH ARGUMENTS\n";
    for (const OptionRow& row : rows) out += item(italic(row.names.front()), escaped(row.help));
  }
  out += ".SH OPTIONS\n" + list_of_options(command);
  if (!command.commands.empty())
    out += ".SH COMMANDS\n" + list_of_commands(command, name, name == "softrnic");
  out += footer_of(command);
  return out + ".SH SEE ALSO\n" + (name == "softrnic" ? "" : bold("softrnic") + "(1), ") + bold("softrnic") +
         "(7), " + bold("softrnicd") + "(8)\n";
}

std::string man_page_of_settings() {
  std::string out = title("softrnic", 7);
  out += ".SH NAME\nsoftrnic \\- an RDMA adapter made of software: environment variables\n.SH DESCRIPTION\n";
  out += escaped(
      "A program whose libibverbs.so.1 and librdmacm.so.1 are softrnic's has RDMA devices without an "
      "adapter. These "
      "variables are read when it first uses them, and by a program with the set-user-ID bit not at all. An "
      "unknown "
      "variable that begins with SOFTRNIC_ and a value that makes no sense are told on standard error.\n");
  out += ".SH ENVIRONMENT\n";
  for (const SettingInfo& row : setting_table()) {
    const std::string usual =
        row.default_value.empty() ? "" : fmt::format(" (default {})", row.default_value);
    out += item(bold(row.name), escaped(std::string(row.help) + usual));
  }
  return out + ".SH SEE ALSO\n" + bold("softrnic") + "(1), " + bold("softrnicd") + "(8), " +
         bold("ibv_devinfo") + "(1)\n";
}

}  // namespace softrnic::cli
