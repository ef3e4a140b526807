// What a FLUSH asks for: the FETH (IBTA A19.3).
#pragma once

#include <cstdint>

#include "transport/ib/types.h"

namespace softrnic::ib {

struct FlushSelector {
  std::uint8_t placement = 0;  ///< bits of enum ibv_placement_type: 1 global visibility, 2 persistence
  std::uint8_t level = 0;      ///< enum ibv_selectivity_level: 0 a range, 1 all of the region

  static constexpr std::uint8_t kGlobal = 1;
  static constexpr std::uint8_t kPersistent = 2;
  static constexpr std::uint8_t kRange = 0;
  static constexpr std::uint8_t kRegion = 1;

  static constexpr FlushSelector of(std::uint32_t feth) {
    return {static_cast<std::uint8_t>(feth & 0xf), static_cast<std::uint8_t>(feth >> 4 & 3)};
  }
  constexpr std::uint32_t feth() const { return static_cast<std::uint32_t>(placement | level << 4); }
  constexpr bool valid() const {
    return placement != 0 && (placement & ~(kGlobal | kPersistent)) == 0 && level <= kRegion;
  }
  /// What the queue pair and the region must allow.
  constexpr std::uint32_t access() const {
    return ((placement & kGlobal) != 0 ? std::uint32_t{kFlushGlobal} : 0) |
           ((placement & kPersistent) != 0 ? std::uint32_t{kFlushPersistent} : 0);
  }
};

}  // namespace softrnic::ib
