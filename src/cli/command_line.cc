#include <CLI/CLI.hpp>
#include <algorithm>
#include <string>

#include "base/settings.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "cli/suggest.h"

namespace softrnic::cli {
namespace {

constexpr const char* kExamples = R"(Examples:
  softrnic run -- ib_write_bw -d soft0 10.0.0.2     run any RDMA program on softrnic
  softrnic run --explain --faults drop=1% -- ./app  the same, with packet loss, and every failure explained
  softrnic cp -r src host:backup                    copy files to a host that runs `softrnic serve`
  softrnic dev                                      which devices there are
  softrnic explain                                  why the last thing failed, queue pair by queue pair
  softrnic doctor                                   what stands in the way on this host, and the cure
  softrnic stat --json                              counters of every process, for scripts
See `softrnic COMMAND --help` for each command.)";

std::vector<std::string> names_of(const CLI::App& app) {
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

bool takes_value(const CLI::App& command, const std::string& word) {
  const CLI::Option* option = command.get_option_no_throw(word);
  return option != nullptr && option->get_items_expected_max() > 0;
}

/// Cuts the program of `softrnic run [OPTIONS] [--] PROGRAM ...` off the words, as its options are not ours.
std::vector<std::string> cut_program(std::vector<std::string>& words, const CLI::App& run) {
  const auto is_word = [](const std::string& word) { return !word.starts_with("-"); };
  auto at = std::find_if(words.begin(), words.end(), is_word);
  if (at == words.end() || *at != run.get_name()) return {};
  for (++at; at != words.end() && *at != "--" && !is_word(*at); ++at)
    if (takes_value(run, *at) && at + 1 != words.end()) ++at;
  const auto first = at != words.end() && *at == "--" ? at + 1 : at;
  std::vector<std::string> program(first, words.end());
  words.erase(at, words.end());
  return program;
}

int complain_about(const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App& command = innermost(app);
  const std::vector<std::string> unknown = app.remaining(true);
  std::string text = error.what();
  if (!unknown.empty()) {
    text = fmt::format("'{}' is not known to {}", unknown.front(), command.get_display_name());
    if (const std::string meant = nearest(unknown.front(), names_of(command)); !meant.empty())
      text += fmt::format("; did you mean '{}'?", meant);
  }
  complain(text);
  complain("try --help");
  return kUsage;
}

}  // namespace

std::unique_ptr<CLI::App> make_grammar(Context& context) {
  auto app = std::make_unique<CLI::App>("softrnic: RDMA for every program, with no adapter.", "softrnic");
  app->add_flag("-j,--json", context.json, "print JSON");
  app->footer(kExamples);
  app->fallthrough();
  app->require_subcommand(0, 1);
  for (const auto add : {add_run, add_dev, add_link, add_resource, add_stat, add_explain, add_cp, add_serve,
                         add_ping, add_daemon, add_doctor, add_system, add_env, add_version})
    add(*app, context);
  return app;
}

int run_command_line(int argc, const char* const* argv) {
  Context context;
  const std::unique_ptr<CLI::App> grammar = make_grammar(context);
  CLI::App& app = *grammar;
  std::vector<std::string> words(argv + 1, argv + argc);
  context.program = cut_program(words, *app.get_subcommand("run"));
  std::reverse(words.begin(), words.end());  // so CLI11 wants them
  try {
    app.parse(words);
  } catch (const CLI::CallForHelp&) {
    fmt::print("{}", app.help());
    return kDone;
  } catch (const CLI::ParseError& error) {
    return complain_about(app, error);
  }
  if (!context.chosen) {
    fmt::print(stderr, "{}", app.help());
    return kUsage;
  }
  settings();  // the language of what the command has to say
  return context.chosen();
}

}  // namespace softrnic::cli
