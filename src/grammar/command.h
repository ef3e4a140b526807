// The grammar of a command line: commands, their options, and what these may be given. CLI11 does the work.
// Files that declare a grammar do without its headers, which cost more to compile than the rest of them.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace softrnic::grammar {

/// An option, a flag or a positional; lives as long as its grammar. Copies mean the same one.
class Option {
 public:
  explicit Option(CLI::Option* option) : option_(option) {}

  Option& required();
  /// May be given only where `other` is.
  Option& needs(const Option& other);
  Option& excludes(const Option& other);
  /// Of an option with a list: one value each time it is given, so that what follows may be a positional.
  Option& one_at_a_time();
  /// `Number`: int, double, std::size_t.
  template <typename Number>
  Option& within(Number least, Number most);
  Option& one_of(const std::vector<std::string>& words);
  /// A number of bytes, which may end with K, M, G or T: powers of 1024.
  Option& in_bytes();
  /// --help tells what it is when it is not given: the present value.
  Option& shows_default();

 private:
  CLI::Option* option_;
};

/// A command of the grammar, or a command below it; lives as long as its grammar. Copies mean the same one.
class Command {
 public:
  explicit Command(CLI::App* app) : app_(app) {}

  Command command(const std::string& name, const std::string& help) const;
  /// One that was added.
  Command below(const std::string& name) const;
  void alias(const std::string& name) const;
  /// What --help ends with.
  void footer(const std::string& text) const;
  /// Its options may stand behind those of commands below it.
  void takes_options_anywhere() const;
  /// How many commands below it a command line has to name.
  void takes_commands(std::size_t least, std::size_t most) const;

  /// `names`: "-r,--recursive". What is given goes to `to`, which outlives the grammar.
  Option flag(const std::string& names, bool& to, const std::string& help) const;
  /// The same, or a positional: "paths". `Value`: std::string, a list of them, bool, double, integers, or
  /// std::optional<unsigned>.
  template <typename Value>
  Option option(const std::string& names, Value& to, const std::string& help) const;

  /// Called if a command line names this command, when all of it has been understood; those of commands below
  /// this one come before.
  void finally(std::function<void()> act) const;
  /// The same, but before any finally().
  void when_parsed(std::function<void()> act) const;

  /// The options that were given, in the order of the command line, by their first long name; one as often as
  /// it was given. For finally().
  std::vector<std::string> order() const;

  /// Whether `word` is an option of this command that takes a value.
  bool takes_value(const std::string& word) const;

  CLI::App& app() const { return *app_; }

 private:
  CLI::App* app_;
};

/// Why a command line is not carried out.
struct Trouble {
  bool wants_help = false;         ///< nothing is wrong
  std::string text;                ///< what is
  std::string unknown;             ///< the first word that is not known; empty: all are
  std::string command;             ///< to which it is not known, "softrnic cp"
  std::vector<std::string> known;  ///< what that command knows: names of commands, and "--option"
};

/// The whole grammar of a program.
class Grammar {
 public:
  Grammar(const std::string& description, const std::string& name);
  ~Grammar();
  Grammar(Grammar&&) noexcept;

  Command root() const { return Command(app_.get()); }
  /// Nothing when all words are understood.
  std::optional<Trouble> parse(std::vector<std::string> words) const;
  /// Of the command that was named last.
  std::string help() const;

 private:
  std::unique_ptr<CLI::App> app_;
};

}  // namespace softrnic::grammar
