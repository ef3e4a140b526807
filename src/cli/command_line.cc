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

/// Cuts the program of `softrnic run [OPTIONS] [--] PROGRAM ...` off the words, as its options are not ours.
std::vector<std::string> cut_program(std::vector<std::string>& words, const grammar::Command& run) {
  const auto is_word = [](const std::string& word) { return !word.starts_with("-"); };
  auto at = std::find_if(words.begin(), words.end(), is_word);
  if (at == words.end() || *at != "run") return {};
  for (++at; at != words.end() && *at != "--" && !is_word(*at); ++at)
    if (run.takes_value(*at) && at + 1 != words.end()) ++at;
  const auto first = at != words.end() && *at == "--" ? at + 1 : at;
  std::vector<std::string> program(first, words.end());
  words.erase(at, words.end());
  return program;
}

int complain_about(const grammar::Trouble& trouble) {
  std::string text = trouble.text;
  if (!trouble.unknown.empty()) {
    text = fmt::format("'{}' is not known to {}", trouble.unknown, trouble.command);
    if (const std::string meant = nearest(trouble.unknown, trouble.known); !meant.empty())
      text += fmt::format("; did you mean '{}'?", meant);
  }
  complain(text);
  complain("try --help");
  return kUsage;
}

}  // namespace

grammar::Grammar make_grammar(Context& context) {
  grammar::Grammar softrnic("softrnic: RDMA for every program, with no adapter.", "softrnic");
  const grammar::Command root = softrnic.root();
  root.flag("-j,--json", context.json, "print JSON");
  root.footer(kExamples);
  root.takes_options_anywhere();
  root.takes_commands(0, 1);
  for (const auto add :
       {add_run, add_shell, add_dev, add_link, add_resource, add_stat, add_explain, add_cp, add_serve,
        add_ping, add_fabric, add_daemon, add_doctor, add_system, add_env, add_version})
    add(root, context);
  return softrnic;
}

int run_command_line(int argc, const char* const* argv) {
  Context context;
  const grammar::Grammar softrnic = make_grammar(context);
  std::vector<std::string> words(argv + 1, argv + argc);
  context.program = cut_program(words, softrnic.root().below("run"));
  if (const auto trouble = softrnic.parse(std::move(words))) {
    if (!trouble->wants_help) return complain_about(*trouble);
    fmt::print("{}", softrnic.help());
    return kDone;
  }
  if (!context.chosen) {
    fmt::print(stderr, "{}", softrnic.help());
    return kUsage;
  }
  settings();  // the language of what the command has to say
  return context.chosen();
}

}  // namespace softrnic::cli
