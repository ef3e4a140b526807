// Peers that wait for a program's answer. A peer repeats its REQ or REP for as long as it thinks this side is
// silent, and gives up in the end; so it is asked, by an MRA, to wait for the program.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <utility>

#include "base/time.h"
#include "cm/manager.h"
#include "cma/types.h"

namespace softrnic::cma {

class Patience {
 public:
  /// `cm` outlives this object.
  explicit Patience(cm::Manager& cm) : cm_(cm) {}

  /// The peer of `id` waits as long as the 5-bit code `granted` says.
  void expect_answer(IdNumber id, cm::Id connection, std::uint8_t granted, TimePoint now);
  /// The program has answered, or the id or its connection has ended.
  void answered(IdNumber id);
  /// Asks those whose time has half gone.
  void advance(TimePoint now);
  /// kNever: nobody is to be asked.
  TimePoint deadline() const { return due_.empty() ? kNever : due_.begin()->first; }

 private:
  struct Wait {
    cm::Id connection;
    TimePoint due;
  };
  void set(IdNumber id, cm::Id connection, TimePoint due);

  cm::Manager& cm_;
  std::map<IdNumber, Wait> waits_;
  std::set<std::pair<TimePoint, IdNumber>> due_;
};

}  // namespace softrnic::cma
