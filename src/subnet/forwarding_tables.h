// Forwarding tables of switches: by which port a LID leaves, and by which ports a multicast LID does. Kept in
// the blocks that SMPs carry them in, so that what is to be sent is told block by block.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "subnet/graph.h"
#include "wire/lid.h"

namespace softrnic::subnet {

/// Entry of a linear forwarding table: packets to this LID are dropped (IBTA 18.2.4.3).
inline constexpr std::uint8_t kNoRoute = 255;
/// Entries in a block of LinearForwardingTable (IBTA 14.2.5.10).
inline constexpr std::size_t kLinearBlock = 64;
/// Entries in a block of MulticastForwardingTable, and the ports that one position has (IBTA 14.2.5.12).
inline constexpr std::size_t kMulticastBlock = 32;
inline constexpr std::size_t kPositionPorts = 16;
inline constexpr std::size_t kPositions = 16;

class LinearForwardingTable {
 public:
  LinearForwardingTable() = default;
  /// Has the blocks that LIDs up to `top` need, without a route.
  explicit LinearForwardingTable(Lid top);

  /// kNoRoute beyond the last block as well.
  std::uint8_t port(Lid lid) const { return lid.value < ports_.size() ? ports_[lid.value] : kNoRoute; }
  /// Nothing happens for a LID that is not unicast. Grows by blocks.
  void set(Lid lid, std::uint8_t port);

  std::size_t blocks() const { return ports_.size() / kLinearBlock; }
  std::span<const std::uint8_t, kLinearBlock> block(std::size_t number) const {
    return std::span(ports_).subspan(number * kLinearBlock).first<kLinearBlock>();
  }

 private:
  std::vector<std::uint8_t> ports_;  // by LID
};

/// A set of the ports of a switch.
class PortMask {
 public:
  bool test(std::uint8_t port) const { return (words_[port / kPositionPorts] >> bit(port) & 1) != 0; }
  void set(std::uint8_t port) {
    words_[port / kPositionPorts] |= static_cast<std::uint16_t>(1U << bit(port));
  }
  void clear(std::uint8_t port) {
    words_[port / kPositionPorts] &= static_cast<std::uint16_t>(~(1U << bit(port)));
  }
  unsigned count() const;
  bool empty() const { return count() == 0; }
  /// The lowest port; 255 without any.
  std::uint8_t first() const;
  /// Ports 16·position to 16·position + 15, the lowest in the least significant bit.
  std::uint16_t position(std::size_t position) const { return words_[position]; }
  void set_position(std::size_t position, std::uint16_t ports) { words_[position] = ports; }

  bool operator==(const PortMask&) const = default;

 private:
  static unsigned bit(std::uint8_t port) { return port % kPositionPorts; }

  std::array<std::uint16_t, kPositions> words_{};
};

class MulticastForwardingTable {
 public:
  MulticastForwardingTable() = default;
  /// `ports`: external ports of the switch.
  explicit MulticastForwardingTable(std::uint8_t ports) : positions_(ports / kPositionPorts + 1) {}

  /// Empty for a LID without entry.
  PortMask mask(Lid mlid) const;
  /// Nothing happens for a LID that is not multicast. Grows by blocks.
  void set(Lid mlid, const PortMask& mask);

  std::size_t blocks() const { return masks_.size() / kMulticastBlock; }
  std::size_t positions() const { return positions_; }
  /// The block's entries at that position; no ports beyond the last block.
  std::array<std::uint16_t, kMulticastBlock> block(std::size_t number, std::size_t position) const;

 private:
  std::size_t positions_ = 1;
  std::vector<PortMask> masks_;  // by multicast LID, from 0xc000
};

struct SwitchTables {
  LinearForwardingTable linear;
  MulticastForwardingTable multicast;
};

/// The tables of all switches of a graph.
class ForwardingTables {
 public:
  ForwardingTables() = default;
  /// Room for all LIDs of the graph, without any route.
  explicit ForwardingTables(const Graph& graph);

  std::size_t switches() const { return tables_.size(); }
  SwitchTables& at(SwitchId id) { return tables_[id.value]; }
  const SwitchTables& at(SwitchId id) const { return tables_[id.value]; }

 private:
  std::vector<SwitchTables> tables_;
};

/// Numbers of the blocks in which `wanted` differs from what a switch was sent. A block that it was never
/// sent differs, as it may hold anything; one that is no longer wanted is compared with no routes.
std::vector<std::size_t> changed_blocks(const LinearForwardingTable& sent,
                                        const LinearForwardingTable& wanted);

struct MulticastBlock {
  std::size_t block = 0;
  std::size_t position = 0;

  bool operator==(const MulticastBlock&) const = default;
};
/// The same of multicast blocks, at the positions of `wanted`.
std::vector<MulticastBlock> changed_blocks(const MulticastForwardingTable& sent,
                                           const MulticastForwardingTable& wanted);

/// What each switch has to be sent, for switches where that is anything. Both are of the same graph; switches
/// that `sent` does not know were sent nothing.
struct SwitchChanges {
  SwitchId sw;
  std::vector<std::size_t> linear;
  std::vector<MulticastBlock> multicast;
};
std::vector<SwitchChanges> difference(const ForwardingTables& sent, const ForwardingTables& wanted);

}  // namespace softrnic::subnet
