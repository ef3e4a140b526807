// The P_Key table of a switch port, for partition enforcement (IBTA 10.9.3, 18.2.4.2). A subnet manager
// writes into it what the port at the other end of the cable has (OpenSM: pkey_mgr_update_peer_port).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace softrnic::fabric {

class PartitionTable {
 public:
  /// Entries whose low 15 bits are 0 are invalid and match nothing. A port has at most 65535.
  void set(std::span<const std::uint16_t> pkeys);
  /// What goes to the end of the cable: the table has the partition, and one of the two at least is a full
  /// member.
  bool admits_out(std::uint16_t pkey) const;
  /// What comes from there carries the sender's own P_Key: the table has it, or makes the sender a full
  /// member, who may send as a limited one.
  bool admits_in(std::uint16_t pkey) const;

 private:
  std::vector<std::uint16_t> full_;  ///< low 15 bits, sorted
  std::vector<std::uint16_t> limited_;
};

}  // namespace softrnic::fabric
