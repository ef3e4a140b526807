#include "tests/unit/cma/network.h"

namespace softrnic::cma {

Node::Node(Network& on, std::uint64_t guid, const std::vector<std::string>& addresses)
    : network(on),
      streams(on.tcp, [this]() -> iwcm::Manager& { return manager.streams(); }),
      manager(*this, streams, guid),
      random_(static_cast<std::uint32_t>(guid)) {
  device.index = 1;
  device.name = "soft0";
  device.guid = guid;
  device.interface_index = 2;
  device.port.up = true;
  device.port.active_mtu = 1024;
  for (const std::string& text : addresses) {
    const wire::Gid gid = address(text).host;
    device.port.gids.push_back({gid, 2});
    network.nodes[gid] = this;
  }
  manager.devices_changed({device});
  channel = manager.open_channel();
}

void Node::become_iwarp(bool beside) {
  const device::DeviceInfo before = device;
  device.kind = device::Kind::iwarp;
  device.name = "iw0";
  device.index = 2;
  device.port.addresses = std::exchange(device.port.gids, {{wire::Gid{{std::byte{2}}}, 2}});
  if (beside) {
    manager.devices_changed({before, device});
  } else {
    manager.devices_changed({device});
  }
}

TimePoint Node::now() { return network.now; }

void Node::send(const mad::Address& to, Bytes mad) {
  if (!network.lose()) network.packets.push_back({to, {mad.begin(), mad.end()}});
}

void Node::resolve(IdNumber id, const RouteQuery& query) {
  if (!network.nodes.contains(query.destination)) {
    manager.resolved(id, Unexpected{refuse(EHOSTUNREACH, ReasonId::no_neighbour, 2)});
    return;
  }
  wire::Gid source = query.source;
  for (const device::GidEntry& entry : addresses_of(device))
    if (source.is_zero() && entry.gid.is_ipv4() == query.destination.is_ipv4()) source = entry.gid;
  manager.resolved(id, Route{source, 2, 64});
}

IdNumber Node::make_id(PortSpace space, std::uint64_t cookie, std::uint8_t qp_type) {
  const auto id = manager.create({cookie, channel, static_cast<std::uint16_t>(space), qp_type});
  EXPECT_TRUE(id);
  return id ? *id : 0;
}

IdNumber Node::listener(const SocketAddress& at, PortSpace space) {
  const IdNumber id = make_id(space, 100);
  EXPECT_TRUE(manager.bind(id, at));
  EXPECT_TRUE(manager.listen(id, 10));
  return id;
}

IdNumber Node::routed(const SocketAddress& to, PortSpace space) {
  const IdNumber id = make_id(space, 200);
  EXPECT_TRUE(manager.resolve_address(id, {}, to, std::chrono::seconds(2)));
  expect(RDMA_CM_EVENT_ADDR_RESOLVED);
  EXPECT_TRUE(manager.resolve_route(id));
  expect(RDMA_CM_EVENT_ROUTE_RESOLVED);
  return id;
}

Event Node::expect(rdma_cm_event_type kind) {
  const auto event = manager.next_event(channel);
  EXPECT_TRUE(event) << "no event where one of kind " << kind << " was due";
  if (!event) return {};
  EXPECT_EQ(event->kind, kind) << "status " << event->status << ": " << describe(event->reason);
  return *event;
}

void Network::deliver() {
  tcp.now = now;
  while (tcp.deliver() || !packets.empty()) {
    if (packets.empty()) continue;
    const Packet packet = std::move(packets.front());
    packets.pop_front();
    const auto node = nodes.find(packet.to.remote);
    if (node == nodes.end()) continue;
    mad::Address from = packet.to;
    std::swap(from.local, from.remote);
    node->second->manager.receive(from, packet.mad);
  }
}

bool Network::run(const std::function<bool()>& done) {
  const TimePoint end = now + std::chrono::minutes(1);
  for (;;) {
    deliver();
    if (done()) return true;
    TimePoint next = kNever;
    for (const auto& [gid, node] : nodes) next = std::min(next, node->manager.deadline());
    if (next >= end) return false;
    now = std::max(now, next);
    for (const auto& [gid, node] : nodes) node->manager.advance();
  }
}

}  // namespace softrnic::cma
