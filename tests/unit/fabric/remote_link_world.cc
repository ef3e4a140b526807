#include "tests/unit/fabric/remote_link_world.h"

#include <algorithm>
#include <memory>

namespace softrnic::fabric {
namespace {

constexpr std::size_t kIdAt = 20;
constexpr Duration kRemoteSettlingTime(50'000'000);

}  // namespace

RemoteWorld::RemoteWorld(std::uint64_t seed, const RemoteWorldOptions& options)
    : rng_(seed), options_(options) {
  sizes_.data = static_cast<std::uint16_t>(rng_.range(kMaxPacketBlocks, 300));
  for (std::size_t i = 0; i < 2; ++i) {
    sides_[i] = std::make_unique<Side>(*this, i);
    build(*sides_[i]);
  }
  connect();
  advance(kRemoteSettlingTime);
  activate();
}

void RemoteWorld::build(Side& side) {
  Engine& engine = side.engine;
  side.switch_node = *engine.add_switch(kHosts + 1, sizes_);
  const Rate rate = rng_.chance(0.5) ? Rate{} : Rate{static_cast<std::uint32_t>(rng_.range(1, 50)), 1};
  for (std::uint8_t i = 0; i < kHosts; ++i) {
    side.hosts.push_back(engine.port(*engine.add_adapter(1, sizes_), 1)->id);
    const PortId out = engine.port(side.switch_node, static_cast<std::uint8_t>(i + 1))->id;
    EXPECT_TRUE(engine.connect(side.hosts.back(), out, rate, Duration(0)));
  }
  side.cable_end = engine.port(side.switch_node, kHosts + 1)->id;
  side.cable = *engine.connect_remote(side.cable_end, rate, Duration(0));
  engine.set_faults(side.cable.link, {.packet_errors = options_.damage, .flow_control_errors = 0});
  side.link = std::make_unique<RemoteLink>(engine, side.cable.remote);
  for (std::size_t fabric = 0; fabric < 2; ++fabric) {
    for (std::uint8_t host = 0; host < kHosts; ++host) {
      const auto way = fabric == side.index ? static_cast<std::uint8_t>(host + 1) : std::uint8_t{kHosts + 1};
      engine.forwarding(side.switch_node)->set_linear(lid(fabric, host), way);
    }
  }
}

void RemoteWorld::connect() {
  for (const auto& side : sides_) {
    side->link->disconnect();
    side->out.clear();
    side->waiting = 0;
  }
  for (const auto& side : sides_)
    side->link->connect([&s = *side](const RemoteLinkStatus& status) { s.put(status); });
}

// In order, each some time after the one before it.
void RemoteWorld::put(std::size_t index, decltype(Message::what) what) {
  Side& side = *sides_[index];
  std::deque<Message>& out = side.out;
  const TimePoint earliest = out.empty() ? now_ : std::max(now_, out.back().due);
  const Duration delay(static_cast<std::int64_t>(rng_.below(rng_.chance(0.05) ? 20'000 : 200)));
  out.push_back({earliest + delay, std::move(what)});
  side.waiting += blocks_in(out.back());
  most_waiting = std::max(most_waiting, side.waiting);
}

std::size_t RemoteWorld::blocks_in(const Message& message) {
  const auto* packet = std::get_if<1>(&message.what);
  return packet != nullptr ? blocks_of(packet->first.size()) : 0;
}

void RemoteWorld::deliver(Side& from) {
  Side& to = *sides_[1 - from.index];
  const Message message = std::move(from.out.front());
  from.out.pop_front();
  from.waiting -= blocks_in(message);
  if (const auto* status = std::get_if<0>(&message.what)) return to.link->hear(*status);
  if (const auto* packet = std::get_if<1>(&message.what)) {
    if (!to.engine.hear(to.cable.remote, packet->first, packet->second)) fail("a packet is not understood");
    return;
  }
  to.engine.hear(to.cable.remote, std::get<2>(message.what));
}

void RemoteWorld::advance(Duration time) {
  const TimePoint end = now_ + time;
  while (now_ < end && failure_.empty()) {
    TimePoint next = end;
    for (const auto& side : sides_) {
      next = std::min(next, side->engine.next_deadline());
      if (!side->out.empty()) next = std::min(next, side->out.front().due);
    }
    now_ = std::max(now_, next);
    for (const auto& side : sides_) side->engine.advance(now_);
    for (const auto& side : sides_)
      while (!side->out.empty() && side->out.front().due <= now_) deliver(*side);
    for (const auto& side : sides_) side->engine.advance(now_);
  }
  check_buffers();
}

void RemoteWorld::activate() {
  for (const auto& side : sides_) {
    for (const EnginePort& port : side->engine.ports()) {
      if (!port.is_external() || port.state != PortState::initialize) continue;
      side->engine.set_state(port.id, PortState::armed);
      side->engine.set_state(port.id, PortState::active);
    }
  }
  advance(Duration(100'000));
}

void RemoteWorld::Side::carry(PortId, const Packet& packet) {
  const Bytes bytes = packet.bytes();
  put(std::pair(std::vector<std::byte>(bytes.begin(), bytes.end()), packet.damaged));
}

bool RemoteWorld::take(Side& side, PortId port, const Packet& packet) {
  if (options_.holding && hosts_hold_ && rng_.chance(0.02)) {
    side.holding.push_back(port);
    return false;
  }
  const Bytes bytes = packet.bytes();
  const std::uint32_t id = load_be32(&bytes[kIdAt]);
  const auto found = under_way_.find(id);
  if (found == under_way_.end()) return fail("a packet came twice, or was never sent"), true;
  found->second[0] = bytes[0];  // the VL
  if (!std::equal(bytes.begin(), bytes.end(), found->second.begin(), found->second.end()))
    fail("a packet has other bytes");
  under_way_.erase(found);
  std::uint32_t& last = last_[{packet.slid.value, packet.dlid.value, packet.sl}];
  if (last >= id) fail("packets of one service level came in another order");
  last = id;
  const bool is_own = (packet.slid.value - 1U) / kHosts == side.index;
  if (!is_own) ++across;
  ++delivered;
  return true;
}

void RemoteWorld::send_one() {
  const std::size_t from = rng_.below(2), host = rng_.below(kHosts);
  const std::size_t to = rng_.chance(0.8) ? 1 - from : from;
  const std::size_t peer = to == from ? 1 - host : rng_.below(kHosts);
  PacketWish wish{.dlid = lid(to, peer), .slid = lid(from, host)};
  wish.sl = static_cast<std::uint8_t>(rng_.below(16));
  wish.payload = rng_.chance(0.3) ? 4096 : 4 + 4 * rng_.below(200);
  std::vector<std::byte> bytes = make_packet(wish);
  store_be32(&bytes[kIdAt], next_id_);
  if (!sides_[from]->engine.send(sides_[from]->hosts[host], bytes)) return;
  under_way_[next_id_++] = std::move(bytes);
  ++sent;
}

void RemoteWorld::disturb() {
  Side& side = *sides_[rng_.below(2)];
  const bool on = rng_.chance(0.6);
  switch (rng_.below(60)) {
    case 0:
      side.engine.set_connected(side.cable.link, on);
      break;
    case 1:
      side.engine.set_enabled(side.cable_end, on);
      break;
    case 2:
      side.engine.set_state(side.cable_end, PortState::down);
      break;
    case 3:
      if (rng_.chance(0.2)) connect();
      break;
    case 4:
      activate();
      break;
    default:
      break;
  }
}

void RemoteWorld::run(unsigned packets) {
  for (unsigned i = 0; i < packets && failure_.empty(); ++i) {
    send_one();
    if (options_.cuts) disturb();
    Side& side = *sides_[rng_.below(2)];
    if (!side.holding.empty() && rng_.chance(0.5)) {
      side.engine.resume(side.holding.back());
      side.holding.pop_back();
    }
    if (rng_.chance(0.5)) advance(Duration(static_cast<std::int64_t>(rng_.below(2000))));
  }
}

void RemoteWorld::release_hosts() {
  hosts_hold_ = false;
  for (const auto& side : sides_)
    for (const PortId port : std::exchange(side->holding, {})) side->engine.resume(port);
}

void RemoteWorld::settle() {
  for (const auto& side : sides_) {
    side->engine.set_connected(side->cable.link, true);
    side->engine.set_enabled(side->cable_end, true);
    side->engine.set_faults(side->cable.link, {});
  }
  release_hosts();
  advance(kRemoteSettlingTime);
  activate();
  advance(kRemoteSettlingTime);
  for (const auto& side : sides_)
    if (side->engine.packets().packets_in_use() != 0) fail("a packet is left over");
  check_credits();
  hosts_hold_ = true;
}

// Nothing is under way: what a side may send is what the other has room for.
void RemoteWorld::check_credits() {
  for (const auto& side : sides_) {
    const EnginePort& port = *side->engine.port(side->cable_end);
    if (!side->link->is_up() || port.state != PortState::active) return fail("the link is not up");
    for (std::uint8_t vl = 0; vl < kDataVls; ++vl)
      if (port.out[vl].credit.available() != port.in[vl].size)
        fail("credits were lost on VL " + std::to_string(vl));
  }
}

void RemoteWorld::check_buffers() {
  for (const auto& side : sides_)
    for (const EnginePort& port : side->engine.ports())
      if (port.counters.buffer_overrun_errors != 0) fail("a buffer was overrun");
}

std::uint64_t RemoteWorld::damaged() const {
  std::uint64_t sum = 0;
  for (const auto& side : sides_) sum += side->engine.port(side->cable_end)->counters.symbol_errors;
  return sum;
}

}  // namespace softrnic::fabric
