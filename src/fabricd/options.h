// The command line of softrnic-fabricd.
#pragma once

#include <cstdint>
#include <string>

#include "control/fabric_commands.h"
#include "grammar/command.h"

namespace softrnic::fabricd {

struct Options {
  std::string name = "fabric";
  std::string topology;  ///< specification of a shape
  std::string file;      ///< of a topology, in place of a shape
  std::string manager = "embedded";
  std::string routing;        ///< empty: what the configuration says, or the manager's own choice
  std::string partitions;     ///< file in the form of partitions.conf
  std::string configuration;  ///< file in the form of opensm.conf
  double scale = 0;           ///< see fabric::LinkPace
  std::string listen;         ///< address where other fabrics may join; empty: none may
  std::string join;           ///< address of the fabric to join
  std::uint16_t port = control::kFabricPort;
  int token_fd = -1;   ///< of a file with the token for both
  int report_fd = -1;  ///< of the program that has started it; -1: it runs in the foreground
};

/// What is given goes to `options`, which outlives the grammar.
grammar::Grammar make_grammar(Options& options);

}  // namespace softrnic::fabricd
