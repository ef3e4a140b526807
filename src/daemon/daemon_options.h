// The command line of softrnicd.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "daemon/user_limits.h"
#include "grammar/command.h"

namespace softrnic::daemon {

struct Options {
  int report_fd = -1;              ///< of the program that has started it; -1: it runs in the foreground
  std::optional<unsigned> idle;    ///< seconds; none: 30, of all users for ever
  bool system = false;             ///< for all users
  std::string user = "softrnic";   ///< whom it becomes when root starts it for all users
  std::vector<std::string> links;  ///< NAME=NETDEV
  std::vector<std::string> iwarp_links;
  UserLimits limits;
};

/// What is given goes to `options`, which outlives the grammar.
grammar::Grammar make_grammar(Options& options);

}  // namespace softrnic::daemon
