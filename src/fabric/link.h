// A cable between two ports: how fast, how long, and what is wrong with it.
#pragma once

#include <array>
#include <cstdint>

#include "base/time.h"

namespace softrnic::fabric {

struct EnginePort;

/// `bytes` go in `nanoseconds`. Of 0 bytes: without end, only credits hold a packet.
struct Rate {
  std::uint32_t bytes = 0;
  std::uint32_t nanoseconds = 1;

  bool is_unlimited() const { return bytes == 0; }
};

/// Faults of both directions.
struct LinkFaults {
  double packet_errors = 0;        ///< chance that a packet is damaged, and so dropped where it arrives
  double flow_control_errors = 0;  ///< chance that a flow control packet is lost
};

struct Link {
  std::array<EnginePort*, 2> ends{};
  Rate rate;
  Duration delay{0};  ///< one way
  LinkFaults faults;
  bool connected = true;    ///< the cable is plugged in
  bool up = false;          ///< and both ports are enabled
  std::uint32_t epoch = 0;  ///< how often it has gone up or down; what is under way does not outlive it

  /// Of a cable that leaves the engine: its near end may come up.
  bool is_near_end_ready() const;
  bool is_instant() const { return rate.is_unlimited() && delay.count() == 0; }
};

}  // namespace softrnic::fabric
