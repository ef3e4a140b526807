#include "tests/unit/fabric/fabric_world.h"

#include <algorithm>
#include <bit>

#include "fabric/deadlock.h"

namespace softrnic::fabric {
namespace {

constexpr std::size_t kPayloadAt = 20;
constexpr Duration kSettlingTime(20'000'000);

std::string number(std::uint64_t value) { return std::to_string(value); }

}  // namespace

FabricWorld::FabricWorld(std::uint64_t seed, const WorldOptions& options)
    : rng_(seed), options_(options), engine_({}, {&agents_, &sink_, nullptr, &chance_}) {
  sizes_.data = static_cast<std::uint16_t>(rng_.range(kMaxPacketBlocks, 400));
  if (rng_.chance(0.5)) rate_ = {static_cast<std::uint32_t>(rng_.range(1, 50)), 1};
  if (rng_.chance(0.5)) delay_ = Duration(static_cast<std::int64_t>(rng_.below(2000)));
  if (options.bad_routing) {
    sizes_.data = kMaxPacketBlocks;
    build_ring();
  } else {
    switch (rng_.below(3)) {
      case 0:
        build_ring();
        break;
      case 1:
        build_star();
        break;
      default:
        build_fat_tree();
        break;
    }
  }
  set_up();
}

NodeId FabricWorld::add_switch(std::uint8_t ports) {
  switches_.push_back(*engine_.add_switch(ports, sizes_));
  return switches_.back();
}

void FabricWorld::add_host(NodeId at, std::uint8_t port) {
  const NodeId node = *engine_.add_adapter(1, sizes_);
  const wire::Lid lid(static_cast<std::uint16_t>(hosts_.size() + 1));
  hosts_.push_back({engine_.port(node, 1)->id, lid});
  link(node, 1, at, port);
  route(at, lid, port);
}

void FabricWorld::link(NodeId a, std::uint8_t port_a, NodeId b, std::uint8_t port_b) {
  links_.push_back(*engine_.connect(engine_.port(a, port_a)->id, engine_.port(b, port_b)->id, rate_, delay_));
}

void FabricWorld::route(NodeId at, wire::Lid lid, std::uint8_t port) {
  engine_.forwarding(at)->set_linear(lid, port);
}

void FabricWorld::multicast(NodeId at, std::uint16_t ports) {
  std::array<std::uint16_t, ForwardingTables::kMulticastBlock> masks{};
  masks[0] = ports;
  engine_.forwarding(at)->set_multicast_block(0, 0, masks);
}

// Port 1 leads clockwise, port 2 back, host i is at port 3 of switch i. Legal: no packet uses the cable that
// closes the ring, so that no circle of buffers can be.
void FabricWorld::build_ring() {
  const std::size_t size = rng_.range(3, 6);
  for (std::size_t i = 0; i < size; ++i) add_switch(3);
  for (std::size_t i = 0; i < size; ++i) link(switches_[i], 1, switches_[(i + 1) % size], 2);
  for (std::size_t i = 0; i < size; ++i) add_host(switches_[i], 3);
  for (std::size_t at = 0; at < size; ++at) {
    multicast(switches_[at],
              static_cast<std::uint16_t>(0b1000 | (at + 1 < size ? 0b10 : 0) | (at > 0 ? 0b100 : 0)));
    for (std::size_t to = 0; to < size; ++to) {
      if (at == to) continue;
      route(switches_[at], hosts_[to].lid, options_.bad_routing || to > at ? 1 : 2);
    }
  }
}

void FabricWorld::build_star() {
  const auto size = static_cast<std::uint8_t>(rng_.range(2, 9));
  const NodeId centre = add_switch(size);
  for (std::uint8_t i = 1; i <= size; ++i) add_host(centre, i);
  multicast(centre, static_cast<std::uint16_t>((2U << size) - 2));
}

// Leaf l has hosts at ports 1 to h, spine s at port h + 1 + s; up, then down.
void FabricWorld::build_fat_tree() {
  const auto leaves = static_cast<std::uint8_t>(rng_.range(2, 4));
  const auto spines = static_cast<std::uint8_t>(rng_.range(1, 3));
  const auto each = static_cast<std::uint8_t>(rng_.range(1, 3));
  for (int i = 0; i < leaves; ++i) add_switch(static_cast<std::uint8_t>(each + spines));
  for (int i = 0; i < spines; ++i) add_switch(leaves);
  for (std::uint8_t leaf = 0; leaf < leaves; ++leaf) {
    for (std::uint8_t i = 1; i <= each; ++i) add_host(switches_[leaf], i);
    for (std::uint8_t spine = 0; spine < spines; ++spine) {
      link(switches_[leaf], static_cast<std::uint8_t>(each + 1 + spine), switches_[leaves + spine],
           static_cast<std::uint8_t>(leaf + 1));
    }
  }
  for (std::size_t leaf = 0; leaf < leaves; ++leaf) {
    multicast(switches_[leaf], static_cast<std::uint16_t>((4U << each) - 2));
  }
  multicast(switches_[leaves], static_cast<std::uint16_t>((2U << leaves) - 2));
  for (std::size_t to = 0; to < hosts_.size(); ++to) {
    const std::size_t home = to / each;
    for (std::size_t leaf = 0; leaf < leaves; ++leaf) {
      if (leaf == home) continue;
      route(switches_[leaf], hosts_[to].lid, static_cast<std::uint8_t>(each + 1 + to % spines));
    }
    for (std::size_t spine = 0; spine < spines; ++spine) {
      route(switches_[leaves + spine], hosts_[to].lid, static_cast<std::uint8_t>(home + 1));
    }
  }
}

void FabricWorld::set_up() {
  PortAttributes attributes;
  const std::uint8_t vls[] = {1, 2, 4, 8, 15};
  attributes.operational_vls = options_.bad_routing ? std::uint8_t{1} : rng_.pick(vls);
  if (options_.lifetimes) attributes.hoq_life = static_cast<std::uint8_t>(rng_.below(2));
  const std::array<VlWeight, 2> high = {{{0, 20}, {1, 5}}};
  const bool priorities = rng_.chance(0.3);
  for (const EnginePort& port : engine_.ports()) {
    if (!port.is_external()) continue;
    engine_.set_attributes(port.id, attributes);
    if (priorities) engine_.arbiter(port.id)->set_high(high);
  }
  advance(kSettlingTime);
  activate_all();
  for (const LinkId id : links_) {
    if (options_.faults && rng_.chance(0.5)) {
      engine_.set_faults(id, {.packet_errors = rng_.chance(0.5) ? 0.02 : 0, .flow_control_errors = 0.3});
    }
  }
}

void FabricWorld::activate_all() {
  for (const EnginePort& port : engine_.ports()) {
    if (!port.is_external() || port.state != PortState::initialize) continue;
    engine_.set_state(port.id, PortState::armed);
    engine_.set_state(port.id, PortState::active);
  }
}

std::vector<std::byte> FabricWorld::packet_of(std::uint32_t id, wire::Lid from, wire::Lid to,
                                              std::uint8_t sl) {
  const std::uint64_t payload = rng_.chance(0.3) ? 4096 : 12 + 4 * rng_.below(200);
  std::vector<std::byte> bytes(kPayloadAt + payload + 4);
  for (std::size_t i = kPayloadAt; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(rng_.next());
  wire::LinkHeader header;
  header.sl = sl;
  header.dlid = to;
  header.slid = from;
  header.packet_length = static_cast<std::uint16_t>(bytes.size() / 4);
  wire::encode_link_header(header, std::span<std::byte, 8>(bytes.data(), 8));
  store_be16(&bytes[10], 0xffff);
  store_be24(&bytes[13], 7);
  store_be32(&bytes[kPayloadAt], id);
  return bytes;
}

void FabricWorld::run() {
  std::uint32_t idle = 0;
  while (tally_.packets < options_.packets && failure_.empty() && idle < 100) {
    const std::uint64_t before = tally_.packets;
    send_some();
    idle = tally_.packets == before ? idle + 1 : 0;
    if (options_.faults) disturb();
    advance(Duration(static_cast<std::int64_t>(rng_.below(1000))));
    check_buffers();
  }
  for (const LinkId id : links_) engine_.set_faults(id, {});
  for (const LinkId id : std::exchange(cut_, {})) engine_.set_connected(id, true);
  hosts_hold_ = false;
  for (const PortId port : std::exchange(holding_, {})) engine_.resume(port);
  advance(kSettlingTime);
  check_buffers();
  if (!options_.bad_routing) check_end();
}

void FabricWorld::send_some() {
  for (std::uint64_t burst = rng_.range(1, 12); burst > 0; --burst) send_one();
  if (!holding_.empty() && rng_.chance(0.5)) {
    engine_.resume(holding_.back());
    holding_.pop_back();
  }
}

void FabricWorld::send_one() {
  const std::size_t from = rng_.below(hosts_.size());
  std::size_t to = rng_.below(hosts_.size());
  if (options_.bad_routing) to = (from + hosts_.size() - 1) % hosts_.size();
  std::uint64_t hosts = 1ULL << to;
  wire::Lid dlid = hosts_[to].lid;
  if (!options_.bad_routing && !options_.lifetimes && rng_.chance(0.1)) {
    dlid = wire::Lid(wire::Lid::kFirstMulticast);
    hosts = ((1ULL << hosts_.size()) - 1) & ~(1ULL << from);
  } else if (from == to) {
    return;
  }
  const auto sl = static_cast<std::uint8_t>(rng_.below(16));
  const auto id = static_cast<std::uint32_t>(tally_.packets + 1);
  std::vector<std::byte> packet = packet_of(id, hosts_[from].lid, dlid, sl);
  if (!engine_.send(hosts_[from].port, packet)) {
    ++tally_.refused;
    return;
  }
  ++tally_.packets;
  tally_.sent += static_cast<std::uint64_t>(std::popcount(hosts));
  under_way_[id] = {std::move(packet), hosts};
}

void FabricWorld::disturb() {
  if (rng_.chance(0.02)) {
    cut_.push_back(links_[rng_.below(links_.size())]);
    engine_.set_connected(cut_.back(), false);
    ++tally_.cut;
  } else if (!cut_.empty() && rng_.chance(0.2)) {
    engine_.set_connected(cut_.back(), true);
    cut_.pop_back();
    advance(Duration(10'000));
    activate_all();
  }
}

bool FabricWorld::take(PortId port, const Packet& packet) {
  if (hosts_hold_ && rng_.chance(options_.lifetimes ? 0.1 : 0.02)) {
    ++tally_.held;
    holding_.push_back(port);
    return false;
  }
  const Bytes bytes = packet.bytes();
  const std::uint32_t id = load_be32(&bytes[kPayloadAt]);
  const auto host = static_cast<std::size_t>(
      std::find_if(hosts_.begin(), hosts_.end(), [&](const Host& h) { return h.port == port; }) -
      hosts_.begin());
  const auto found = under_way_.find(id);
  if (found == under_way_.end() || (found->second.hosts >> host & 1) == 0) {
    fail("packet " + number(id) + " came twice, to the wrong host, or was never sent");
    return true;
  }
  Sent& sent = found->second;
  sent.bytes[0] = static_cast<std::byte>(packet.vl << 4);
  if (!std::equal(bytes.begin(), bytes.end(), sent.bytes.begin(), sent.bytes.end())) {
    fail("packet " + number(id) + " has other bytes");
  }
  std::uint32_t& last = last_[{packet.slid.value, packet.dlid.value, packet.sl, host}];
  if (last >= id) fail("packet " + number(id) + " came after " + number(last));
  last = id;
  sent.hosts &= ~(1ULL << host);
  if (sent.hosts == 0) under_way_.erase(found);
  ++tally_.delivered;
  return true;
}

void FabricWorld::advance(Duration time) {
  const TimePoint end = engine_.now() + time;
  do {
    engine_.advance(end);
    if (holding_.size() > 100) fail("hosts hold for ever");
  } while (engine_.next_deadline() <= end && failure_.empty());
}

void FabricWorld::check_buffers() {
  for (const EnginePort& port : engine_.ports()) {
    if (port.counters.buffer_overrun_errors != 0) fail("a buffer was overrun");
    for (const InputBuffer& buffer : port.in) {
      std::uint32_t used = 0;
      for (const Packet* packet = buffer.head; packet != nullptr; packet = packet->next)
        used += packet->blocks;
      if (used != buffer.used || used > buffer.size) fail("a buffer holds more than it has");
    }
  }
}

void FabricWorld::set_lifetimes(std::uint8_t value) {
  for (const NodeId id : switches_) engine_.set_lifetime(id, value);
}

void FabricWorld::check_end() {
  for (const EnginePort& port : engine_.ports()) {
    tally_.discarded += port.counters.xmit_discards();
    tally_.damaged += port.counters.symbol_errors;
    if (port.bids != 0 || port.ready != 0 || port.under_way != 0) fail("a bid is left over");
    if (port.link == nullptr || !port.link->up) continue;
    for (std::uint8_t vl = 0; vl < kDataVls; ++vl) {
      if (port.out[vl].credit.available() != port.peer->in[vl].size) {
        fail("credits leaked: " + number(port.out[vl].credit.available()) + " of " +
             number(port.peer->in[vl].size));
      }
    }
  }
  if (engine_.packets().packets_in_use() != 0) fail("packets are left over");
  if (!find_credit_cycle(engine_).empty()) fail("a credit cycle where nothing waits");
  const bool lossy = options_.faults || options_.lifetimes;
  if (!lossy && !under_way_.empty()) fail(number(under_way_.size()) + " packets were lost");
  if (!lossy && tally_.discarded != 0) fail("packets were discarded");
}

}  // namespace softrnic::fabric
