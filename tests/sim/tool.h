// A simulator as a command: one seed with its trace, or many quietly.
//   --seed N            one seed
//   --seeds A..B        many; stops at the first failure unless --keep-going
//   --mutation NAME     plants a bug
//   --trace N           the last N events of a failure
//   --describe          prints the configuration of the seed
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>

namespace softrnic::sim {

struct ToolOptions {
  bool asked = false;  ///< a seed was named; else the program is a GoogleTest program
  std::uint64_t first = 0;
  std::uint64_t last = 0;
  std::string mutation;
  std::size_t trace = 200;
  bool describe = false;
  bool keep_going = false;

  bool single() const { return first == last; }
};

ToolOptions parse_tool_options(int argc, char** argv);

struct SeedReport {
  std::string failure;      ///< empty: all went well
  std::string trace;        ///< printed when one seed runs, or the run ends with it
  std::string description;  ///< of the configuration
};

/// Runs the seeds; `totals` says at the end what happened in all of them. The exit status.
int run_tool(const ToolOptions& options, const std::function<SeedReport(std::uint64_t seed)>& run_seed,
             const std::function<std::string()>& totals);

/// GoogleTest's main().
int run_tests(int argc, char** argv);

/// The value in 0..count-1 whose name(value) is `text`; ends the program with status 2 when there is none.
template <typename Enum, typename Name>
Enum by_name(const std::string& text, int count, Name name) {
  for (int i = 0; i < count; ++i)
    if (text == name(static_cast<Enum>(i))) return static_cast<Enum>(i);
  std::fprintf(stderr, "no mutation is called %s\n", text.c_str());
  std::exit(2);
}

}  // namespace softrnic::sim
