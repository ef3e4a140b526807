// Hosts with a connection manager each, on a network that tests control: its time, its losses, its addresses.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cma/manager.h"
#include "tests/unit/cma/tcp.h"

namespace softrnic::cma {

inline constexpr std::uint16_t kPort = 7174;  ///< where servers listen

inline SocketAddress address(const std::string& text, std::uint16_t port = 0, std::uint32_t scope = 0) {
  sockaddr_storage storage{};
  auto* in4 = reinterpret_cast<sockaddr_in*>(&storage);
  auto* in6 = reinterpret_cast<sockaddr_in6*>(&storage);
  if (inet_pton(AF_INET, text.c_str(), &in4->sin_addr) == 1) {
    in4->sin_family = AF_INET;
    in4->sin_port = htons(port);
  } else {
    EXPECT_EQ(inet_pton(AF_INET6, text.c_str(), &in6->sin6_addr), 1) << text;
    in6->sin6_family = AF_INET6;
    in6->sin6_port = htons(port);
    in6->sin6_scope_id = scope;
  }
  return *from_sockaddr(storage);
}

/// Of a connection for a queue pair that nobody has.
inline ConnectionParameters parameters(const std::string& data = {}, std::uint8_t responder = 3,
                                       std::uint8_t initiator = 5) {
  ConnectionParameters out;
  const Bytes bytes = std::as_bytes(std::span(data));
  out.private_data.assign(bytes.begin(), bytes.end());
  out.qpn = 0x111;
  out.responder_resources = responder;
  out.initiator_depth = initiator;
  return out;
}

/// Of a call that may fail; 0: it has not.
template <typename Result>
int error_of(const Result& result) {
  return result ? 0 : result.error().error;
}

/// Device 1, on interface 2, with these addresses and an MTU of 1024.
inline device::DeviceInfo device_with(const std::vector<std::string>& addresses) {
  device::DeviceInfo device;
  device.index = 1;
  device.interface_index = 2;
  device.port.up = true;
  device.port.active_mtu = 1024;
  for (const std::string& text : addresses) device.port.gids.push_back({address(text).host, 2});
  return device;
}

class Network;

/// A host with one device, which has the addresses given.
class Node final : public Host {
 public:
  Node(Network& network, std::uint64_t guid, const std::vector<std::string>& addresses);

  TimePoint now() override;
  std::uint32_t random_number() override { return random_ = random_ * 1664525 + 1013904223; }
  void send(const mad::Address& to, Bytes mad) override;
  void resolve(IdNumber id, const RouteQuery& query) override;
  void cancel_resolve(IdNumber id) override { cancelled.push_back(id); }
  void find_path(IdNumber id, const PathQuery& query) override;
  void cancel_path(IdNumber id) override { cancelled.push_back(id); }
  void join_group(MembershipNumber membership, const GroupQuery& query) override;
  void leave_group(MembershipNumber membership) override { left_groups.push_back(membership); }
  bool has_address(const wire::Gid& port, const wire::Gid& at) const override;
  void event_queued(ChannelNumber on) override { ++posts[on]; }
  void explain(const Reason& reason, const mad::Address& peer) override {
    explained.push_back(reason.id);
    explained_peer = peer;
  }

  IdNumber make_id(PortSpace space = PortSpace::tcp, std::uint64_t cookie = 0,
                   std::uint8_t qp_type = IBV_QPT_RC);
  /// From now on the device is one of iWARP, with the same addresses. `beside`: and there is the other, too,
  /// which was made first.
  void become_iwarp(bool beside = false);
  /// From now on it is one of InfiniBand, whose IPoIB interface has the addresses; its GID is fe80::GUID.
  /// `beside`: and the one of RoCE, which was made first, has this address.
  void become_infiniband(std::uint16_t lid, const std::string& beside = {});
  /// An id that listens.
  IdNumber listener(const SocketAddress& at, PortSpace space = PortSpace::tcp);
  /// An id with a route to `to`.
  IdNumber routed(const SocketAddress& to, PortSpace space = PortSpace::tcp);
  /// The next event, of this kind, or the test fails.
  Event expect(rdma_cm_event_type kind);

  Network& network;
  device::DeviceInfo device;
  Tcp::Side streams;
  Manager manager;
  ChannelNumber channel = 0;
  std::map<ChannelNumber, int> posts;
  std::vector<IdNumber> cancelled;
  std::vector<PathQuery> path_queries;
  std::vector<GroupQuery> group_queries;
  std::vector<MembershipNumber> left_groups;
  std::vector<ReasonId> explained;
  mad::Address explained_peer;  ///< of the last one

 private:
  std::uint32_t random_;
};

class Network {
 public:
  /// Delivers what is under way.
  void deliver();
  /// Goes on, also in time, until `done` or a minute has gone by.
  bool run(const std::function<bool()>& done);

  struct Packet {
    mad::Address to;
    std::vector<std::byte> mad;
  };
  Tcp tcp;
  std::function<bool()> lose = [] { return false; };
  /// What the subnet administrator answers; nothing: not yet. The path that there is, or nobody has that GID.
  std::function<std::optional<PathAnswer>(const PathQuery&)> path_of = [this](const PathQuery& query) {
    return known_path(query);
  };
  PathAnswer known_path(const PathQuery& query) const;
  std::map<wire::Gid, wire::Lid> lids;
  TimePoint now{std::chrono::seconds(1)};
  std::map<wire::Gid, Node*> nodes;
  std::deque<Packet> packets;
};

/// Two hosts, 10.0.0.1 and 10.0.0.2.
class TwoNodes : public ::testing::Test {
 protected:
  Network network;
  Node server{network, 0x11, {"10.0.0.1", "fd00::1"}};
  Node client{network, 0x22, {"10.0.0.2", "fd00::2"}};
};

}  // namespace softrnic::cma
