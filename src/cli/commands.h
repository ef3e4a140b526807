// The commands of softrnic: one function a command, which adds it to the program's grammar.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "grammar/command.h"

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

void add_run(const grammar::Command& softrnic, Context& context);
void add_shell(const grammar::Command& softrnic, Context& context);
void add_dev(const grammar::Command& softrnic, Context& context);
void add_link(const grammar::Command& softrnic, Context& context);
void add_resource(const grammar::Command& softrnic, Context& context);
void add_stat(const grammar::Command& softrnic, Context& context);
void add_explain(const grammar::Command& softrnic, Context& context);
void add_cp(const grammar::Command& softrnic, Context& context);
void add_serve(const grammar::Command& softrnic, Context& context);
void add_ping(const grammar::Command& softrnic, Context& context);
void add_fabric(const grammar::Command& softrnic, Context& context);
void add_daemon(const grammar::Command& softrnic, Context& context);
void add_doctor(const grammar::Command& softrnic, Context& context);
void add_system(const grammar::Command& softrnic, Context& context);
void add_env(const grammar::Command& softrnic, Context& context);
void add_version(const grammar::Command& softrnic, Context& context);

/// The whole grammar of the command; what it parses goes to `context`, which outlives it.
grammar::Grammar make_grammar(Context& context);

/// Parses and runs. Returns the exit code.
int run_command_line(int argc, const char* const* argv);

}  // namespace softrnic::cli
