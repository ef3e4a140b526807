// All cables of a fabric to others, and whose IP addresses are behind them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "base/time.h"
#include "fabric/sinks.h"
#include "fabricd/fabric_cable.h"
#include "mad/guid.h"

namespace softrnic::fabricd {

/// 10.x.y.z of the emulated IPoIB interface of a host's port (both counted from 1): x is the port's number
/// less one in the low half and the fabric's index in the high one (fabric/joined_topology.h), y.z the host.
std::uint32_t ipoib_address(std::uint8_t fabric, std::uint32_t host, std::uint32_t port);

class FabricCables final : public fabric::RemoteSink {
 public:
  /// `index`: of this fabric, among those that are joined.
  explicit FabricCables(std::uint8_t index) : index_(index) {}

  std::uint8_t index() const { return index_; }
  void add(std::unique_ptr<FabricCable> cable);
  /// In the order of add().
  const std::vector<std::unique_ptr<FabricCable>>& all() const { return cables_; }
  /// nullptr: the port has none.
  const FabricCable* find(fabric::PortId port, const fabric::Engine& engine) const;
  /// Of this fabric.
  void set_addresses(std::vector<CableAddress> own);
  /// The port that has this IP address in another fabric.
  std::optional<mad::Guid> owner_of(std::uint32_t ipv4) const;

  // fabric::RemoteSink
  void carry(fabric::PortId remote, const fabric::Packet& packet) override;
  void carry(fabric::PortId remote, const wire::FlowControlPacket& packet) override;
  void on_link(fabric::PortId remote) override;

  TimePoint deadline() const;
  void advance(TimePoint now);

 private:
  FabricCable* at(fabric::PortId remote) const;
  bool may_say(std::size_t cable, std::uint32_t ipv4) const;
  std::vector<CableAddress> said_by(std::size_t cable) const;
  void exchange_addresses();

  const std::uint8_t index_;
  std::vector<std::unique_ptr<FabricCable>> cables_;
  std::vector<CableAddress> own_;
  std::unordered_map<std::uint32_t, mad::Guid> owners_;  ///< by IPv4 address
  bool addresses_changed_ = false;
};

}  // namespace softrnic::fabricd
