// A cable to another fabric: its end in the engine, and the connection to the other process while there is
// one.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "daemon/event_loop.h"
#include "fabric/engine.h"
#include "fabric/node_agents.h"
#include "fabric/remote_link.h"
#include "fabricd/message_stream.h"

namespace softrnic::fabricd {

class FabricCable {
 public:
  static constexpr Duration kKeepalive = std::chrono::seconds(1);  ///< something is said at least so often
  static constexpr Duration kSilence = std::chrono::seconds(5);    ///< a peer that says nothing is given up
  /// Bytes that wait for the peer to read. Credits bound data (15 VLs of 128 KiB); management datagrams,
  /// which have none, are dropped above the first.
  static constexpr std::size_t kMostManagement = 1U << 20;
  static constexpr std::size_t kMostWaiting = 4U << 20;
  static constexpr std::size_t kMostAddresses = 1U << 16;

  /// All outlive it; the engine has that cable.
  FabricCable(daemon::EventLoop& loop, fabric::Engine& engine, fabric::NodeAgents& agents,
              fabric::PortId remote);
  ~FabricCable();
  FabricCable(const FabricCable&) = delete;
  FabricCable& operator=(const FabricCable&) = delete;

  fabric::PortId remote() const { return link_.remote(); }
  bool is_connected() const { return stream_ != nullptr; }
  bool is_up() const { return link_.is_up(); }
  /// The latest; empty: there was none.
  const std::string& peer() const { return peer_; }
  /// What it says of the addresses that its fabric knows; not checked.
  const std::vector<CableAddress>& addresses() const { return addresses_; }

  /// Behind the greeting. It takes the place of a connection that there may be.
  void connect(std::unique_ptr<MessageStream> stream, std::string peer, TimePoint now);
  /// If it was not told the same before.
  void tell_addresses(const std::vector<CableAddress>& list);

  /// There is a connection now, or none any more, or addresses() are others.
  std::function<void()> changed = [] {};

  // fabric::RemoteSink, for this cable
  void carry(const fabric::Packet& packet);
  void carry(const wire::FlowControlPacket& packet);
  void link_changed() { link_.changed(); }

  TimePoint deadline() const;
  /// Sends what waits, too.
  void advance(TimePoint now);

 private:
  void tell_link(const fabric::RemoteLinkStatus& status);
  void watch();
  void readable();
  bool take(const CableMessage& message);
  bool take_addresses(const CableAddresses& addresses);
  void disconnect();

  daemon::EventLoop& loop_;
  fabric::Engine& engine_;
  fabric::NodeAgents& agents_;
  fabric::RemoteLink link_;
  std::unique_ptr<MessageStream> stream_;
  bool ended_ = false;           ///< the connection, as advance() will find
  bool waits_to_write_ = false;  ///< the loop tells when the socket takes more
  TimePoint heard_{};            ///< latest
  TimePoint told_{};
  std::string peer_;
  std::vector<CableAddress> addresses_;
  std::optional<std::vector<CableAddress>> told_addresses_;
};

}  // namespace softrnic::fabricd
