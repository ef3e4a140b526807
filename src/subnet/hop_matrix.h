// How many links lie between each two switches, a byte each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "subnet/graph.h"

namespace softrnic::subnet {

/// No way, or none of less than 255 links.
inline constexpr std::uint8_t kUnreachable = 255;

class HopMatrix {
 public:
  HopMatrix() = default;
  explicit HopMatrix(std::size_t switches) : switches_(switches), hops_(switches * switches, kUnreachable) {}

  std::size_t switches() const { return switches_; }
  std::uint8_t hops(SwitchId from, SwitchId to) const { return hops_[to.value * switches_ + from.value]; }
  /// By `from`: the hops to `to`.
  std::span<std::uint8_t> to(SwitchId to) {
    return std::span(hops_).subspan(to.value * switches_, switches_);
  }
  std::span<const std::uint8_t> to(SwitchId to) const {
    return std::span(hops_).subspan(to.value * switches_, switches_);
  }

 private:
  std::size_t switches_ = 0;
  std::vector<std::uint8_t> hops_;
};

}  // namespace softrnic::subnet
