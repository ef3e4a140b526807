// The lanes of a process as a context sees them. The engine implements it, tests fake it.
#pragma once

#include "base/expected.h"
#include "base/reason.h"
#include "rnic/lane_port.h"

namespace softrnic::rnic {

class Lanes {
 public:
  /// The lane for a new QP. Its failures are explained by whoever makes them.
  virtual Expected<LanePort*, Failure> choose() = 0;
  /// The same for one of raw packets. They are all on one lane, as the flow rules of a port are one list.
  virtual Expected<LanePort*, Failure> choose_for_frames() { return choose(); }
  /// LanePort::quiesce() on every lane of the process.
  virtual void quiesce_all() = 0;

 protected:
  ~Lanes() = default;
};

}  // namespace softrnic::rnic
