#include "grammar/command.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace softrnic::grammar {
namespace {

std::vector<std::string> names_known_to(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(command->get_name());
  for (const CLI::Option* option : app.get_options())
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  return names;
}

/// The deepest command that was understood.
const CLI::App& innermost(const CLI::App& app) {
  const auto commands = app.get_subcommands();
  return commands.empty() ? app : innermost(*commands.front());
}

Trouble trouble_of(const CLI::App& app, const CLI::ParseError& error) {
  Trouble trouble{false, error.what(), {}, {}, {}};
  if (const auto unknown = app.remaining(true); !unknown.empty()) {
    const CLI::App& command = innermost(app);
    trouble.unknown = unknown.front();
    trouble.command = command.get_display_name();
    trouble.known = names_known_to(command);
  }
  return trouble;
}

}  // namespace

Option& Option::required() {
  option_->required();
  return *this;
}

Option& Option::needs(const Option& other) {
  option_->needs(other.option_);
  return *this;
}

Option& Option::excludes(const Option& other) {
  option_->excludes(other.option_);
  return *this;
}

Option& Option::one_at_a_time() {
  option_->allow_extra_args(false);
  return *this;
}

template <typename Number>
Option& Option::within(Number least, Number most) {
  option_->check(CLI::Range(least, most));
  return *this;
}
template Option& Option::within(int, int);
template Option& Option::within(double, double);
template Option& Option::within(std::size_t, std::size_t);

Option& Option::one_of(const std::vector<std::string>& words) {
  option_->check(CLI::IsMember(words));
  return *this;
}

Option& Option::in_bytes() {
  option_->transform(CLI::AsSizeValue(false));
  return *this;
}

Option& Option::shows_default() {
  option_->capture_default_str();
  return *this;
}

Command Command::command(const std::string& name, const std::string& help) const {
  return Command(app_->add_subcommand(name, help));
}

Command Command::below(const std::string& name) const { return Command(app_->get_subcommand(name)); }

void Command::alias(const std::string& name) const { app_->alias(name); }
void Command::footer(const std::string& text) const { app_->footer(text); }

void Command::takes_options_anywhere() const { app_->fallthrough(); }

void Command::takes_commands(std::size_t least, std::size_t most) const {
  app_->require_subcommand(least, most);
}

Option Command::flag(const std::string& names, bool& to, const std::string& help) const {
  return Option(app_->add_flag(names, to, help));
}

template <typename Value>
Option Command::option(const std::string& names, Value& to, const std::string& help) const {
  return Option(app_->add_option(names, to, help));
}
template Option Command::option(const std::string&, std::string&, const std::string&) const;
template Option Command::option(const std::string&, std::vector<std::string>&, const std::string&) const;
template Option Command::option(const std::string&, double&, const std::string&) const;
template Option Command::option(const std::string&, int&, const std::string&) const;
template Option Command::option(const std::string&, std::uint16_t&, const std::string&) const;
template Option Command::option(const std::string&, std::uint32_t&, const std::string&) const;
template Option Command::option(const std::string&, std::uint64_t&, const std::string&) const;
template Option Command::option(const std::string&, std::optional<unsigned>&, const std::string&) const;

void Command::finally(std::function<void()> act) const { app_->final_callback(std::move(act)); }
void Command::when_parsed(std::function<void()> act) const { app_->parse_complete_callback(std::move(act)); }

std::vector<std::string> Command::order() const {
  std::vector<std::string> names;
  for (const CLI::Option* option : app_->parse_order())
    if (!option->get_lnames().empty()) names.push_back(option->get_lnames().front());
  return names;
}

bool Command::takes_value(const std::string& word) const {
  const CLI::Option* option = app_->get_option_no_throw(word);
  return option != nullptr && option->get_items_expected_max() > 0;
}

Grammar::Grammar(const std::string& description, const std::string& name)
    : app_(std::make_unique<CLI::App>(description, name)) {}
Grammar::~Grammar() = default;
Grammar::Grammar(Grammar&&) noexcept = default;

std::optional<Trouble> Grammar::parse(std::vector<std::string> words) const {
  std::reverse(words.begin(), words.end());  // so CLI11 wants them
  try {
    app_->parse(std::move(words));
  } catch (const CLI::CallForHelp& help) {
    Trouble trouble = trouble_of(*app_, help);  // of a word that is not known there is no help
    trouble.wants_help = trouble.unknown.empty();
    return trouble;
  } catch (const CLI::ParseError& error) {
    return trouble_of(*app_, error);
  }
  return {};
}

std::string Grammar::help() const { return app_->help(); }

}  // namespace softrnic::grammar
