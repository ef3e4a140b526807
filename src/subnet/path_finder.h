// What a route can carry: MTU and rate are the least of all ports that it passes, the SL is that of the
// partition, and no switch on the way drops it (IBTA 15.2.5.16).
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "mad/link.h"
#include "subnet/sa_request.h"

namespace softrnic::subnet {

struct PathProperties {
  mad::Mtu mtu{};
  mad::Rate rate{};
  std::uint16_t service_levels = 0;  ///< bit by bit: those that no table on the way sends to VL15
};

class PathFinder {
 public:
  explicit PathFinder(const SaView& view);

  /// The route from the port to that LID by the forwarding tables; nothing if it ends somewhere else.
  std::optional<PathProperties> trace(NodePort source, Lid destination) const;

  /// The SL for packets of that partition: what the partition was given.
  std::uint8_t service_level(std::uint16_t p_key) const;

 private:
  void pass(NodePort at, PathProperties& path) const;
  void leave(NodePort at, PathProperties& path) const;

  const SaView& view_;
  std::array<QosOptions, 4> qos_;  // by QosPort
};

/// The rates next to a code, in the order of what they carry; Rate::none beyond the last.
mad::Rate next_rate(mad::Rate rate);
mad::Rate previous_rate(mad::Rate rate);
/// Whether a packet of `a` takes longer than one of `b`.
inline bool is_slower(mad::Rate a, mad::Rate b) { return mad::data_rate(a) < mad::data_rate(b); }

}  // namespace softrnic::subnet
