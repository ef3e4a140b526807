// A directed route as a sweep takes it: the ports to leave by, one for each hop (IBTA 14.2.2).
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>

#include "mad/smp.h"

namespace softrnic::subnet {

class DirectedPath {
 public:
  std::uint8_t hops() const { return hops_; }
  bool has_room() const { return hops_ < mad::kMaxHops; }

  /// One hop farther, by that port of the node it led to. The path has room.
  DirectedPath then(std::uint8_t port) const {
    DirectedPath longer = *this;
    longer.ports_[++longer.hops_] = port;
    return longer;
  }

  /// As an SMP has it: entry 0 is not used.
  const std::array<std::uint8_t, mad::kMaxHops + 1>& initial_path() const { return ports_; }

  /// "0,1,7", as ibnetdiscover and smpquery -D write it.
  std::string to_string() const {
    std::string text = "0";
    for (unsigned hop = 1; hop <= hops_; ++hop) text += "," + std::to_string(ports_[hop]);
    return text;
  }

  bool operator==(const DirectedPath&) const = default;

 private:
  std::uint8_t hops_ = 0;
  std::array<std::uint8_t, mad::kMaxHops + 1> ports_{};
};

}  // namespace softrnic::subnet
