#include "fabricd/fabric_cables.h"

#include <algorithm>
#include <utility>

namespace softrnic::fabricd {
namespace {

constexpr std::uint32_t kNetwork = 10;

}  // namespace

std::uint32_t ipoib_address(std::uint8_t fabric, std::uint32_t host, std::uint32_t port) {
  return kNetwork << 24 | ((port - 1U + (std::uint32_t{fabric} << 4)) & 0xff) << 16 | (host & 0xffff);
}

void FabricCables::add(std::unique_ptr<FabricCable> cable) {
  cable->changed = [this] { addresses_changed_ = true; };
  cables_.push_back(std::move(cable));
}

FabricCable* FabricCables::at(fabric::PortId remote) const {
  const auto found =
      std::ranges::find_if(cables_, [remote](const auto& cable) { return cable->remote() == remote; });
  return found == cables_.end() ? nullptr : found->get();
}

const FabricCable* FabricCables::find(fabric::PortId id, const fabric::Engine& engine) const {
  const fabric::EnginePort* const port = engine.port(id);
  return port == nullptr || port->peer == nullptr ? nullptr : at(port->peer->id);
}

void FabricCables::set_addresses(std::vector<CableAddress> own) {
  own_ = std::move(own);
  addresses_changed_ = true;
}

std::optional<mad::Guid> FabricCables::owner_of(std::uint32_t ipv4) const {
  const auto found = owners_.find(ipv4);
  return found == owners_.end() ? std::nullopt : std::optional(found->second);
}

void FabricCables::carry(fabric::PortId remote, const fabric::Packet& packet) {
  if (FabricCable* const cable = at(remote)) cable->carry(packet);
}

void FabricCables::carry(fabric::PortId remote, const wire::FlowControlPacket& packet) {
  if (FabricCable* const cable = at(remote)) cable->carry(packet);
}

void FabricCables::on_link(fabric::PortId remote) {
  if (FabricCable* const cable = at(remote)) cable->link_changed();
}

// Who has joined by cable n has index n + 1, and no others behind it. Who joins hears of all others by its
// one cable.
bool FabricCables::may_say(std::size_t cable, std::uint32_t ipv4) const {
  const std::uint32_t fabric = ipv4 >> 20 & 0xf;
  if (ipv4 >> 24 != kNetwork) return false;
  return index_ == 0 ? fabric == cable + 1 : fabric != index_;
}

std::vector<CableAddress> FabricCables::said_by(std::size_t cable) const {
  std::vector<CableAddress> said;
  for (const CableAddress& address : cables_[cable]->addresses())
    if (may_say(cable, address.ipv4)) said.push_back(address);
  return said;
}

void FabricCables::exchange_addresses() {
  std::vector<std::vector<CableAddress>> said;
  owners_.clear();
  for (std::size_t i = 0; i < cables_.size(); ++i) {
    said.push_back(said_by(i));
    for (const CableAddress& address : said.back()) owners_[address.ipv4] = address.port;
  }
  for (std::size_t to = 0; to < cables_.size(); ++to) {
    std::vector<CableAddress> list = own_;
    for (std::size_t from = 0; from < cables_.size(); ++from)
      if (from != to) list.insert(list.end(), said[from].begin(), said[from].end());
    cables_[to]->tell_addresses(list);
  }
}

TimePoint FabricCables::deadline() const {
  if (addresses_changed_) return {};
  TimePoint due = kNever;
  for (const auto& cable : cables_) due = std::min(due, cable->deadline());
  return due;
}

void FabricCables::advance(TimePoint now) {
  if (std::exchange(addresses_changed_, false)) exchange_addresses();
  for (const auto& cable : cables_) cable->advance(now);
}

}  // namespace softrnic::fabricd
