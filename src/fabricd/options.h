// The command line of softrnic-fabricd.
#pragma once

#include <string>

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
  int report_fd = -1;         ///< of the program that has started it; -1: it runs in the foreground
};

/// What is given goes to `options`, which outlives the grammar.
grammar::Grammar make_grammar(Options& options);

}  // namespace softrnic::fabricd
