// The P_Key table of a switch port, for partition enforcement (IBTA 10.9.3, 18.2.4.2).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace softrnic::fabric {

class PartitionTable {
 public:
  /// Entries whose low 15 bits are 0 are invalid and match nothing. A port has at most 65535.
  void set(std::span<const std::uint16_t> pkeys);
  /// The table has the partition, and one of the two at least is a full member.
  bool admits(std::uint16_t pkey) const;

 private:
  std::vector<std::uint16_t> full_;  ///< low 15 bits, sorted
  std::vector<std::uint16_t> limited_;
};

}  // namespace softrnic::fabric
