#include "tests/unit/cma/network.h"

#include "base/reason_id.h"

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

void Node::become_infiniband(std::uint16_t lid, const std::string& beside) {
  device::DeviceInfo before = device;
  device.kind = device::Kind::infiniband;
  device.name = "ib0";
  device.index = 3;
  device.interface_index = 1;
  device.port.active_mtu = 4096;
  device.port.addresses = std::exchange(device.port.gids, {});
  for (device::GidEntry& entry : device.port.addresses) entry.interface_index = 1;
  wire::Gid gid = address("fe80::").host;
  gid.raw[15] = static_cast<std::byte>(device.guid);
  device.port.gids = {{gid, 1}};
  device.port.infiniband.lid = wire::Lid(lid);
  device.port.infiniband.pkeys = {0xffff, 0x8001};
  network.nodes[gid] = this;
  network.lids[gid] = wire::Lid(lid);
  if (beside.empty()) return manager.devices_changed({device});
  before.port.gids = {{address(beside).host, 2}};
  network.nodes[address(beside).host] = this;
  manager.devices_changed({before, device});
}

void Node::find_path(IdNumber id, const PathQuery& query) {
  path_queries.push_back(query);
  if (const auto answer = network.path_of(query)) manager.path_found(id, *answer);
}

void Node::join_group(MembershipNumber membership, const GroupQuery& query) {
  group_queries.push_back(query);
  GroupRecord record;
  record.group = query.group;
  record.lid = wire::Lid(0xc004);
  record.qkey = query.qkey;
  record.pkey = query.pkey;
  record.sl = 2;
  record.mtu = IBV_MTU_2048;
  record.rate = IBV_RATE_40_GBPS;
  manager.group_joined(membership, record);
}

bool Node::has_address(const wire::Gid& port, const wire::Gid& at) const {
  const auto node = network.nodes.find(port);
  const auto same = network.nodes.find(at);
  return node != network.nodes.end() && same != network.nodes.end() && node->second == same->second;
}

PathAnswer Network::known_path(const PathQuery& query) const {
  const auto from = lids.find(query.source), to = lids.find(query.destination);
  if (from == lids.end() || to == lids.end())
    return Unexpected{refuse(ENETUNREACH, ReasonId::cma_no_port_there)};
  PathRecord record;
  record.source_lid = from->second;
  record.destination_lid = to->second;
  record.pkey = query.pkey;
  record.sl = 3;
  record.mtu = IBV_MTU_2048;
  record.rate = IBV_RATE_40_GBPS;
  record.packet_life_time = 16;
  return record;
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
  Route route{source, device.interface_index, 64};
  if (device::has_lids(device.kind))
    route.destination_gid = network.nodes.at(query.destination)->device.port.gids[0].gid;
  manager.resolved(id, route);
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
  EXPECT_TRUE(manager.resolve_route(id, std::chrono::seconds(2)));
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
    std::swap(from.local_lid, from.remote_lid);
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
