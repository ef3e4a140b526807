// What every part of one run stands on: the time, the log, and the first thing that went wrong.
#pragma once

#include <string>

#include "tests/sim/trace.h"

namespace softrnic::sim {

struct Ground {
  explicit Ground(std::size_t trace_capacity) : trace(trace_capacity) {}

  TimePoint now{};
  Trace trace;
  std::string failure;  ///< empty: all is well so far

  bool failed() const { return !failure.empty(); }
  /// Only the first failure counts: what follows is often its consequence.
  void fail(const std::string& what) {
    if (failure.empty()) failure = what;
  }
  void log(What what, std::uint32_t node, std::uint64_t a = 0, std::uint64_t b = 0, std::uint64_t c = 0) {
    trace.add(Record{now, what, node, a, b, c, {}});
  }
};

}  // namespace softrnic::sim
