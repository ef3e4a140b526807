#include "fabric/forwarding.h"

#include <algorithm>

namespace softrnic::fabric {

bool ForwardingTables::set_linear_block(std::uint16_t block,
                                        std::span<const std::uint8_t, kLinearBlock> ports) {
  if (block >= kLinearBlocks) return false;
  const std::size_t first = block * kLinearBlock;
  if (linear_.size() < first + kLinearBlock) linear_.resize(first + kLinearBlock, kNoPort);
  std::copy(ports.begin(), ports.end(), linear_.begin() + static_cast<std::ptrdiff_t>(first));
  return true;
}

std::array<std::uint8_t, ForwardingTables::kLinearBlock> ForwardingTables::linear_block(
    std::uint16_t block) const {
  std::array<std::uint8_t, kLinearBlock> ports;
  for (std::size_t i = 0; i < kLinearBlock; ++i) {
    const std::size_t lid = block * kLinearBlock + i;
    ports[i] = lid < linear_.size() ? linear_[lid] : kNoPort;
  }
  return ports;
}

bool ForwardingTables::set_linear(wire::Lid lid, std::uint8_t port) {
  if (!lid.is_unicast()) return false;
  if (linear_.size() <= lid.value) linear_.resize((lid.value / kLinearBlock + 1) * kLinearBlock, kNoPort);
  linear_[lid.value] = port;
  return true;
}

bool ForwardingTables::set_multicast_block(std::uint16_t block, std::uint8_t position,
                                           std::span<const std::uint16_t, kMulticastBlock> masks) {
  if (block >= kMulticastBlocks || position >= kPositions) return false;
  const std::size_t first = block * kMulticastBlock;
  if (multicast_.size() < first + kMulticastBlock) multicast_.resize(first + kMulticastBlock);
  for (std::size_t i = 0; i < kMulticastBlock; ++i) {
    for (std::size_t bit = 0; bit < 16; ++bit) {
      multicast_[first + i].set(position * 16U + bit, (masks[i] >> bit & 1) != 0);
    }
  }
  return true;
}

std::array<std::uint16_t, ForwardingTables::kMulticastBlock> ForwardingTables::multicast_block(
    std::uint16_t block, std::uint8_t position) const {
  std::array<std::uint16_t, kMulticastBlock> masks{};
  const std::size_t first = block * kMulticastBlock;
  if (position >= kPositions) return masks;
  for (std::size_t i = 0; i < kMulticastBlock && first + i < multicast_.size(); ++i) {
    for (unsigned bit = 0; bit < 16; ++bit) {
      if (multicast_[first + i][position * 16U + bit]) masks[i] |= static_cast<std::uint16_t>(1U << bit);
    }
  }
  return masks;
}

void ForwardingTables::set_default_multicast(std::uint8_t primary, std::uint8_t not_primary) {
  primary_ = primary;
  not_primary_ = not_primary;
}

PortMask ForwardingTables::multicast(wire::Lid dlid, std::uint8_t from) const {
  PortMask ports;
  const auto entry = static_cast<std::size_t>(dlid.value - wire::Lid::kFirstMulticast);
  if (entry < multicast_.size()) ports = multicast_[entry];
  if (ports.none()) {
    const std::uint8_t port = from == primary_ ? not_primary_ : primary_;
    if (port != kNoPort) ports.set(port);
  }
  ports.reset(from);
  return ports;
}

}  // namespace softrnic::fabric
