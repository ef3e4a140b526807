// The commands of softrnic: one function a command, which adds it to the program's grammar.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace softrnic::cli {

/// Exit codes, as those of env(1) where a program is run.
enum ExitCode : int {
  kDone = 0,
  kFailed = 1,
  kUsage = 2,
  kCannotRun = 125,
  kNotExecutable = 126,
  kNotFound = 127
};

/// What all commands share.
struct Context {
  bool json = false;
  std::vector<std::string> program;  ///< of `run`, with its arguments
  std::function<int()> chosen;       ///< set by the command that the command line names
};

void add_run(CLI::App& app, Context& context);
void add_dev(CLI::App& app, Context& context);
void add_link(CLI::App& app, Context& context);
void add_resource(CLI::App& app, Context& context);
void add_stat(CLI::App& app, Context& context);
void add_explain(CLI::App& app, Context& context);
void add_cp(CLI::App& app, Context& context);
void add_serve(CLI::App& app, Context& context);
void add_ping(CLI::App& app, Context& context);
void add_daemon(CLI::App& app, Context& context);
void add_doctor(CLI::App& app, Context& context);
void add_system(CLI::App& app, Context& context);
void add_env(CLI::App& app, Context& context);
void add_version(CLI::App& app, Context& context);

/// The whole grammar of the command; what it parses goes to `context`, which outlives it.
std::unique_ptr<CLI::App> make_grammar(Context& context);

/// Parses and runs. Returns the exit code.
int run_command_line(int argc, const char* const* argv);

}  // namespace softrnic::cli
