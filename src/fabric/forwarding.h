// The forwarding tables of a switch: which ports a DLID leads to (IBTA 18.2.4.3).
#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <span>
#include <vector>

#include "wire/lid.h"

namespace softrnic::fabric {

/// A set of ports of one switch, port 0 included.
using PortMask = std::bitset<256>;

class ForwardingTables {
 public:
  static constexpr std::uint8_t kNoPort = 255;
  static constexpr std::size_t kLinearBlock = 64;     ///< entries of a block of the LinearForwardingTable
  static constexpr std::size_t kMulticastBlock = 32;  ///< of the MulticastForwardingTable, 16 bits each
  static constexpr std::uint16_t kLinearBlocks = 0xc000 / kLinearBlock;
  static constexpr std::uint16_t kMulticastBlocks = 0x4000 / kMulticastBlock;
  static constexpr std::uint8_t kPositions = 16;  ///< 16 ports each

  /// Ports of LIDs block·64 on; false: there is no such block.
  bool set_linear_block(std::uint16_t block, std::span<const std::uint8_t, kLinearBlock> ports);
  std::array<std::uint8_t, kLinearBlock> linear_block(std::uint16_t block) const;
  /// A single entry; false: `lid` is not a unicast one.
  bool set_linear(wire::Lid lid, std::uint8_t port);
  /// LinearFDBTop: DLIDs above lead nowhere.
  void set_linear_top(std::uint16_t top) { linear_top_ = top; }

  /// Masks of ports 16·position on, bit 0 the first, of MLIDs 0xc000 + block·32 on; false: there is no such
  /// block or position.
  bool set_multicast_block(std::uint16_t block, std::uint8_t position,
                           std::span<const std::uint16_t, kMulticastBlock> masks);
  std::array<std::uint16_t, kMulticastBlock> multicast_block(std::uint16_t block,
                                                             std::uint8_t position) const;
  /// DefaultMulticastPrimaryPort and DefaultMulticastNotPrimaryPort: where MLIDs without an entry go, from
  /// other ports than the primary, and from the primary. kNoPort: nowhere.
  void set_default_multicast(std::uint8_t primary, std::uint8_t not_primary);

  /// The port, or kNoPort.
  std::uint8_t unicast(wire::Lid dlid) const {
    const bool listed = !dlid.is_reserved() && dlid.value < linear_.size() && dlid.value <= linear_top_;
    return listed ? linear_[dlid.value] : kNoPort;
  }
  /// Never the port that the packet came from.
  PortMask multicast(wire::Lid dlid, std::uint8_t from) const;

 private:
  std::vector<std::uint8_t> linear_;  ///< as long as the last block that was set
  std::vector<PortMask> multicast_;
  std::uint16_t linear_top_ = 0xbfff;
  std::uint8_t primary_ = kNoPort;
  std::uint8_t not_primary_ = kNoPort;
};

}  // namespace softrnic::fabric
