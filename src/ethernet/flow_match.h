// What a flow rule wants of a frame.
#pragma once

#include <cstdint>

#include "ethernet/flow_key.h"

namespace softrnic::ethernet {

/// Made by filling in `layers`, `value` and `mask`, then prepare().
struct FlowMatch {
  std::uint32_t layers = 0;  ///< that the frame has to have
  FlowKey value{};
  FlowKey mask{};  ///< 1: this bit counts

  /// Bits that do not count are cleared in `value`, so that equal rules are equal.
  void prepare();
  bool matches(const ParsedFrame& frame) const;
  bool operator==(const FlowMatch& other) const;

 private:
  // the words of the mask that are not 0
  std::uint32_t first_ = 0;
  std::uint32_t end_ = 0;
};

}  // namespace softrnic::ethernet
