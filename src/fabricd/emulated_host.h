// One host of the fabric: what softrnicd is for a real one, behind a socket of its own.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/expected.h"
#include "base/reason.h"
#include "base/time.h"
#include "control/path_socket.h"
#include "daemon/clients.h"
#include "daemon/event_loop.h"
#include "daemon/mad_ports.h"
#include "daemon/service.h"
#include "fabric/managed_node.h"
#include "fabricd/host_connections.h"
#include "fabricd/host_lanes.h"
#include "fabricd/port_view.h"
#include "fabricd/sa_client.h"
#include "mad/address.h"

namespace softrnic::fabricd {

/// What a host needs of the fabric.
class HostFabric : public HostPorts {
 public:
  virtual const fabric::ManagedNode& node() const = 0;
  /// A datagram leaves by QP0 or QP1 of a port.
  virtual void send_mad(std::uint8_t port, mad::Queue queue, const mad::Peer& to, Bytes mad) = 0;
  /// A program manages the subnet from this port, or does no longer.
  virtual void set_is_sm(std::uint8_t port, bool is_sm) = 0;
  /// The GID of the port, anywhere in the fabric, whose IPoIB interface has this IP address; zero: none has.
  /// A GID is its own.
  virtual wire::Gid owner_of(const wire::Gid& address) const = 0;
};

class EmulatedHost final : private daemon::MadPorts {
 public:
  /// `addresses`: of the emulated IPoIB interface of each port, by number - 1. `loop` and `fabric` outlive
  /// it.
  EmulatedHost(daemon::EventLoop& loop, HostFabric& fabric, std::string name,
               std::vector<wire::Gid> addresses);
  EmulatedHost(const EmulatedHost&) = delete;
  EmulatedHost& operator=(const EmulatedHost&) = delete;

  const std::string& name() const { return name_; }
  /// Takes clients at that path from now on.
  Expected<void, Failure> listen(const std::string& path);
  /// Tells clients that it ends.
  void take_leave();

  HostLanes& lanes() { return lanes_; }
  std::size_t clients() const { return clients_ ? clients_->size() : 0; }
  const std::vector<PortIdentity>& ports() const { return ports_; }

  /// Attributes of a port have changed; programs are told.
  void port_changed(std::uint8_t number);
  /// The subnet manager has asked the port's clients to register again.
  void reregister(std::uint8_t number);
  /// A datagram that is for a program, or the connection manager, of this host. False: nobody wants it.
  bool receive_mad(std::uint8_t port, mad::Queue queue, const mad::Peer& from, Bytes mad);

  TimePoint deadline() const;
  void advance(TimePoint now);

 private:
  // daemon::MadPorts
  std::vector<control::MadCa> cas() const override;
  Expected<mad::Peer, Failure> complete(const daemon::MadPortName& port, const mad::Peer& to) const override;
  void send(const daemon::MadPortName& port, mad::Queue queue, const mad::Peer& to, Bytes mad) override;
  void set_is_sm(const daemon::MadPortName& port, bool is_sm) override;

  void watch_descriptors();
  // QP1 of the connection manager, and of the questions to the subnet administrator
  void send_by_address(const mad::Address& to, Bytes mad);
  mad::Address address_of(std::uint8_t port, const mad::Peer& peer) const;
  void ask_administrator(std::uint8_t port, const mad::Mad& mad);
  std::uint8_t own_port(const wire::Gid& address) const;

  daemon::EventLoop& loop_;
  HostFabric& fabric_;
  const std::string name_;
  std::vector<PortIdentity> ports_;  ///< by number - 1
  control::PathListener listener_;
  HostLanes lanes_;
  daemon::Service service_;
  SaClient sa_;
  HostConnections connections_;
  std::unique_ptr<daemon::Clients> clients_;
};

}  // namespace softrnic::fabricd
