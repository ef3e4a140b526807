#include "subnet/forwarding_tables.h"

#include <algorithm>
#include <bit>

namespace softrnic::subnet {
namespace {

std::size_t rounded_up(std::size_t entries, std::size_t block) {
  return (entries + block - 1) / block * block;
}

constexpr std::array<std::uint8_t, kLinearBlock> no_routes() {
  std::array<std::uint8_t, kLinearBlock> block{};
  block.fill(kNoRoute);
  return block;
}
constexpr std::array<std::uint8_t, kLinearBlock> kNoRoutes = no_routes();

std::span<const std::uint8_t, kLinearBlock> block_or_no_routes(const LinearForwardingTable& table,
                                                               std::size_t number) {
  if (number < table.blocks()) return table.block(number);
  return std::span<const std::uint8_t, kLinearBlock>(kNoRoutes);
}

}  // namespace

LinearForwardingTable::LinearForwardingTable(Lid top)
    : ports_(rounded_up(top.value + std::size_t{1}, kLinearBlock), kNoRoute) {}

void LinearForwardingTable::set(Lid lid, std::uint8_t port) {
  if (!lid.is_unicast()) return;
  if (lid.value >= ports_.size()) {
    ports_.resize(rounded_up(lid.value + std::size_t{1}, kLinearBlock), kNoRoute);
  }
  ports_[lid.value] = port;
}

unsigned PortMask::count() const {
  unsigned ports = 0;
  for (const std::uint16_t word : words_) ports += static_cast<unsigned>(std::popcount(word));
  return ports;
}

std::uint8_t PortMask::first() const {
  for (std::size_t position = 0; position < kPositions; ++position) {
    if (words_[position] == 0) continue;
    return static_cast<std::uint8_t>(position * kPositionPorts + std::countr_zero(words_[position]));
  }
  return kNoRoute;
}

PortMask MulticastForwardingTable::mask(Lid mlid) const {
  if (!mlid.is_multicast()) return {};
  const std::size_t entry = mlid.value - std::size_t{Lid::kFirstMulticast};
  return entry < masks_.size() ? masks_[entry] : PortMask{};
}

void MulticastForwardingTable::set(Lid mlid, const PortMask& mask) {
  if (!mlid.is_multicast()) return;
  const std::size_t entry = mlid.value - std::size_t{Lid::kFirstMulticast};
  if (entry >= masks_.size()) {
    if (mask.empty()) return;
    masks_.resize(rounded_up(entry + 1, kMulticastBlock));
  }
  masks_[entry] = mask;
}

std::array<std::uint16_t, kMulticastBlock> MulticastForwardingTable::block(std::size_t number,
                                                                           std::size_t position) const {
  std::array<std::uint16_t, kMulticastBlock> entries{};
  if (number >= blocks() || position >= kPositions) return entries;
  for (std::size_t i = 0; i < kMulticastBlock; ++i) {
    entries[i] = masks_[number * kMulticastBlock + i].position(position);
  }
  return entries;
}

ForwardingTables::ForwardingTables(const Graph& graph) {
  const LinearForwardingTable linear(graph.top_lid());
  tables_.reserve(graph.switches().size());
  for (const Switch& sw : graph.switches()) {
    tables_.push_back({linear, MulticastForwardingTable(sw.ports)});
  }
}

std::vector<std::size_t> changed_blocks(const LinearForwardingTable& sent,
                                        const LinearForwardingTable& wanted) {
  std::vector<std::size_t> changed;
  const std::size_t blocks = std::max(sent.blocks(), wanted.blocks());
  for (std::size_t number = 0; number < blocks; ++number) {
    const bool same =
        number < sent.blocks() && std::ranges::equal(block_or_no_routes(wanted, number), sent.block(number));
    if (!same) changed.push_back(number);
  }
  return changed;
}

std::vector<MulticastBlock> changed_blocks(const MulticastForwardingTable& sent,
                                           const MulticastForwardingTable& wanted) {
  std::vector<MulticastBlock> changed;
  const std::size_t blocks = std::max(sent.blocks(), wanted.blocks());
  for (std::size_t number = 0; number < blocks; ++number) {
    for (std::size_t position = 0; position < wanted.positions(); ++position) {
      const bool same = number < sent.blocks() && position < sent.positions() &&
                        sent.block(number, position) == wanted.block(number, position);
      if (!same) changed.push_back({number, position});
    }
  }
  return changed;
}

std::vector<SwitchChanges> difference(const ForwardingTables& sent, const ForwardingTables& wanted) {
  const SwitchTables nothing;
  std::vector<SwitchChanges> changes;
  for (std::uint32_t i = 0; i < wanted.switches(); ++i) {
    const SwitchId sw(i);
    const SwitchTables& before = i < sent.switches() ? sent.at(sw) : nothing;
    SwitchChanges change{sw, changed_blocks(before.linear, wanted.at(sw).linear),
                         changed_blocks(before.multicast, wanted.at(sw).multicast)};
    if (!change.linear.empty() || !change.multicast.empty()) changes.push_back(std::move(change));
  }
  return changes;
}

}  // namespace softrnic::subnet
