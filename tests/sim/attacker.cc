#include "tests/sim/attacker.h"

#include <algorithm>

#include "transport/ib/rx_packet.h"
#include "wire/fields.h"

namespace softrnic::sim {
namespace {

constexpr std::uint32_t kMostOutstanding = 0x10000;  ///< packets of a requester
constexpr std::uint16_t kSourcePort = 0x9999;        ///< which no honest node has

/// IBTA 9.7.4.1.6, for as many packets as one stands for.
bool length_fits(const wire::OpcodeInfo& info, std::uint32_t bytes, std::uint32_t mtu,
                 std::uint32_t packets) {
  if (info.payload == wire::PayloadRule::fixed_8) return bytes == 8 && packets == 1;
  const bool several = info.payload == wire::PayloadRule::exactly_mtu ||
                       info.payload == wire::PayloadRule::one_to_mtu ||
                       info.payload == wire::PayloadRule::zero_to_mtu;
  if (packets > 1 && !several) return false;
  const std::uint32_t most = packets * mtu;
  if (info.payload == wire::PayloadRule::exactly_mtu) return bytes == most;
  const std::uint32_t least =
      packets > 1 || info.payload == wire::PayloadRule::one_to_mtu ? most - mtu + 1 : 0;
  return bytes >= least && bytes <= most;
}

wire::Opcode of_service(wire::Opcode rc, const PairConfig& pair) {
  const unsigned service = pair.type == ib::QpType::uc ? 0x20U : pair.xrc ? 0xa0U : 0;
  return static_cast<wire::Opcode>(static_cast<unsigned>(rc) | service);
}

}  // namespace

bool holds_forbidden(Bytes bytes) {
  std::size_t run = 0;
  for (const std::byte b : bytes)
    if ((run = b == kForbidden ? run + 1 : 0) == 12) return true;
  return false;
}

bool Attacker::would_hit(const Node& node, std::uint32_t psn, std::uint32_t packets, bool request) {
  if (request) return ((node.endpoint->receive_psn() - psn) & wire::kPsnMask) < packets;
  return ((node.endpoint->send_psn() - psn) & wire::kPsnMask) < kMostOutstanding;
}

bool Attacker::is_overtaken(const Node& node, const ib::RxPacket& packet) const {
  const wire::OpcodeInfo& info = *packet.packet.info;
  const std::uint32_t psn = packet.packet.headers.bth.psn;
  if (node.pair->type != ib::QpType::rc || !wire::is_reliable(info.service)) return false;
  if (!node.pair->hostile) return would_hit(node, psn, packet.packets, info.request);
  if (!attack_.stingy || info.request || packet.packets > 1) return false;
  return ((node.endpoint->send_psn() - 1 - psn) & wire::kPsnMask) < kMostOutstanding;
}

const Node* Attacker::find_target(bool& own) {
  std::vector<const Node*> targets;
  for (const auto& node : nodes_) {
    if (!node->started || node->gone()) continue;
    const bool idle = node->pair->type == ib::QpType::ud && node->pair->receive_depth == 0;
    const bool others = attack_.knows_qpns && node->pair->type == ib::QpType::rc;
    if (idle || others || node->pair->hostile) targets.push_back(node.get());
    if (node->pair->hostile) targets.insert(targets.end(), 3, node.get());
  }
  if (targets.empty()) return nullptr;
  const Node* const target = targets[rng_.below(targets.size())];
  own = target->pair->hostile;
  return target;
}

Shot Attacker::aim_at(const Node& to) const {
  Shot shot;
  shot.adapter = to.adapter;
  shot.flow.source = to.address.destination;
  shot.flow.destination = to.address.source;
  shot.flow.source_port = kSourcePort;
  return shot;
}

Shot Attacker::shoot(bool rings) {
  bool own = false;
  const Node* const to = rng_.chance(0.1) ? nullptr : find_target(own);
  if (to == nullptr) return noise();
  if (to->pair->type == ib::QpType::ud) return datagram(*to);
  Shot shot = aim_at(*to);
  // A bad request ends the victim's connection, and with it what bad answers could do.
  if (to->pair->type == ib::QpType::rc && rng_.chance(own && attack_.stingy ? 0.95 : 0.5))
    answer(*to, own, rings, shot);
  else
    request(*to, own, rings, shot);
  if (rng_.chance(0.05)) cut(shot.packets.back());
  return shot;
}

/// What is left may keep the rules.
void Attacker::cut(std::vector<std::byte>& packet) {
  packet.resize(rng_.below(packet.size() + 1));
  std::replace(packet.begin(), packet.end(), kForbidden, std::byte{0});
}

void Attacker::hears(const Node&, const ib::RxPacket& packet) {
  if (packet.packet.info->request) heard_ = packet.packet.headers.bth.psn;
}

/// Nothing that an adapter could make sense of: random bytes, or a packet for a number that nobody has.
Shot Attacker::noise() {
  const Node& near = *nodes_[rng_.below(nodes_.size())];
  Shot shot = aim_at(near);
  shot.good_icrc = rng_.chance(0.7);
  auto& bytes = shot.packets.emplace_back(rng_.below(200));
  for (std::byte& b : bytes) b = static_cast<std::byte>(rng_.next());
  if (bytes.size() >= wire::kBthBytes)
    wire::field::Bth::Destination::store(bytes.data(), near.qpn.value & 0xff0000);  // index 0
  return shot;
}

Shot Attacker::datagram(const Node& to) {
  Shot shot = aim_at(to);
  wire::Headers headers;
  headers.bth.opcode = wire::Opcode::ud_send_only;
  headers.bth.psn = static_cast<std::uint32_t>(rng_.next()) & wire::kPsnMask;
  headers.deth.qkey = to.attributes.qkey;
  headers.deth.source = Qpn(77);
  put(to, headers, static_cast<std::uint32_t>(rng_.below(to.pair->mtu + 1)), 1, shot);
  return shot;
}

std::uint32_t Attacker::draw_psn(const Node& to, bool own, bool request, std::uint32_t packets) {
  if (own && rng_.chance(0.8)) {
    if (request) return to.endpoint->receive_psn();
    return attack_.stingy && rng_.chance(0.5) ? to.attributes.send_psn : heard_;
  }
  std::uint32_t psn = 0;
  do {
    const std::uint64_t near = to.endpoint->receive_psn() + rng_.below(41) - 20;
    psn = static_cast<std::uint32_t>(own ? near : rng_.next()) & wire::kPsnMask;
  } while (!own && would_hit(to, psn, packets, request));
  return psn;
}

void Attacker::draw_addresses(const Node& to, wire::Headers& headers) {
  const Region* const regions[] = {to.target, to.target, to.target, to.foreign, to.feeble};
  const Region& region = *rng_.pick(regions);
  const bool known = to.pair->hostile && rng_.chance(0.9);
  const MemoryKey key = known ? region.key : MemoryKey(static_cast<std::uint32_t>(rng_.next()));
  headers.reth.key = headers.atomic.key = key;
  headers.reth.address = headers.atomic.address = region.base + rng_.below(region.size() + 16);
  if (rng_.chance(0.7)) headers.atomic.address &= ~std::uint64_t{7};
  headers.reth.length = static_cast<std::uint32_t>(rng_.below(rng_.chance(0.8) ? 20'000 : 1ULL << 32));
  headers.atomic.swap_or_add = rng_.next();
  headers.invalidate = key;
}

std::uint32_t Attacker::draw_size(std::uint32_t mtu) {
  const std::uint32_t sizes[] = {
      mtu, mtu, mtu - 1, mtu + 1, mtu - 4, mtu + 4, static_cast<std::uint32_t>(rng_.below(mtu))};
  return rng_.pick(sizes);
}

void Attacker::put(const Node& to, wire::Headers headers, std::uint32_t payload, std::uint32_t stands_for,
                   Shot& shot) {
  const wire::OpcodeInfo& info = wire::opcode_info(headers.bth.opcode);
  headers.bth.destination = to.qpn;
  headers.bth.pad = wire::pad_for(payload);
  headers.bth.ack_request = rng_.chance(0.3);
  auto& bytes = shot.packets.emplace_back(wire::kMaxHeaderBytes + payload + 3);
  const std::size_t at = wire::encode(headers, bytes);
  bytes.resize(at + payload + headers.bth.pad);
  const bool fits = length_fits(info, payload, to.pair->mtu, stands_for);
  const auto fill = fits ? static_cast<std::byte>(rng_.below(100)) : kForbidden;
  std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(at), payload, fill);
  shot.stands_for = stands_for;
}

/// A SEND or WRITE of several packets, which a receiver may join, or one that says that it is several.
void Attacker::message(const Node& to, std::uint32_t psn, bool rings, Shot& shot) {
  const bool write = rng_.chance(0.5);
  const std::uint32_t mtu = to.pair->mtu;
  const std::uint32_t size = draw_size(mtu);
  const auto opcode = [&](unsigned step) {
    const unsigned base =
        static_cast<unsigned>(write ? wire::Opcode::rc_write_first : wire::Opcode::rc_send_first);
    return of_service(static_cast<wire::Opcode>(base + step), *to.pair);
  };
  wire::Headers headers;
  draw_addresses(to, headers);
  headers.bth.psn = psn;
  if (rings && rng_.chance(0.5)) {
    const auto packets = static_cast<std::uint32_t>(rng_.range(1, 5));
    headers.bth.opcode = opcode(static_cast<unsigned>(rng_.below(6)));
    const std::uint32_t bytes = rng_.chance(0.5) ? packets * size : draw_size(mtu);
    if (rng_.chance(0.7)) headers.reth.length = bytes;
    return put(to, headers, bytes, packets, shot);
  }
  const auto middles = static_cast<std::uint32_t>(rng_.below(5));
  const std::uint32_t end = rng_.chance(0.5) ? size : draw_size(mtu);
  if (rng_.chance(0.7)) headers.reth.length = (middles + 1) * size + end;
  for (std::uint32_t i = 0; i < middles + 2; ++i) {
    headers.bth.opcode = opcode(i == 0 ? 0 : i <= middles ? 1 : 2);
    put(to, headers, i <= middles ? size : end, 1, shot);
    headers.bth.psn = (headers.bth.psn + 1) & wire::kPsnMask;
  }
}

void Attacker::request(const Node& to, bool own, bool rings, Shot& shot) {
  const std::uint32_t psn = draw_psn(to, own, true, 8);
  if (rng_.chance(0.6)) return message(to, psn, rings, shot);
  static constexpr wire::Opcode kOthers[] = {
      wire::Opcode::rc_send_middle,   wire::Opcode::rc_send_last,     wire::Opcode::rc_send_only,
      wire::Opcode::rc_send_only_inv, wire::Opcode::rc_send_only_imm, wire::Opcode::rc_write_middle,
      wire::Opcode::rc_write_last,    wire::Opcode::rc_write_only,    wire::Opcode::rc_write_only_imm,
      wire::Opcode::rc_read_request,  wire::Opcode::rc_compare_swap,  wire::Opcode::rc_fetch_add,
      wire::Opcode::rc_atomic_write,  wire::Opcode::ud_send_only};
  wire::Headers headers;
  draw_addresses(to, headers);
  headers.bth.psn = psn;
  headers.bth.opcode = rng_.pick(kOthers);
  const bool empty = wire::opcode_info(headers.bth.opcode).payload == wire::PayloadRule::none;
  std::uint32_t bytes = empty && rng_.chance(0.8) ? 0 : draw_size(to.pair->mtu);
  if (headers.bth.opcode == wire::Opcode::rc_atomic_write && bytes % 4 != 0) {  // mostly one in order
    bytes = 8;
    if (psn % 2 == 0) {
      headers.bth.opcode = wire::Opcode::rc_flush;
      headers.flush_selector = static_cast<std::uint32_t>(headers.atomic.swap_or_add & 0x33);
      bytes = 0;
    }
  }
  if (rng_.chance(0.6) && bytes != 0) headers.reth.length = bytes;
  put(to, headers, bytes, rings && rng_.chance(0.3) ? 2 : 1, shot);
}

void Attacker::read_responses(const Node& to, std::uint32_t psn, Shot& shot) {
  const std::uint32_t size = draw_size(to.pair->mtu);
  const auto middles = static_cast<std::uint32_t>(rng_.below(5));
  wire::Headers headers;
  headers.bth.psn = psn;
  headers.aeth.syndrome = wire::kAckUnlimitedCredits;
  for (std::uint32_t i = 0; i < middles + 2; ++i) {
    headers.bth.opcode = i == 0         ? wire::Opcode::rc_read_response_first
                         : i <= middles ? wire::Opcode::rc_read_response_middle
                                        : wire::Opcode::rc_read_response_last;
    put(to, headers, size, 1, shot);
    headers.bth.psn = (headers.bth.psn + 1) & wire::kPsnMask;
  }
}

/// One that is stingy answers with what no responder may send: it acknowledges nothing.
void Attacker::answer(const Node& to, bool own, bool rings, Shot& shot) {
  const std::uint32_t psn = draw_psn(to, own, false, 8);
  const bool stingy = own && attack_.stingy;
  const auto never_sent =
      static_cast<std::uint32_t>(to.endpoint->send_psn() + rng_.below(0x1000)) & wire::kPsnMask;
  wire::Headers headers;
  headers.bth.psn = psn;
  headers.aeth.syndrome = wire::kAckUnlimitedCredits;
  headers.atomic_original = rng_.next();
  if (rng_.chance(0.4)) {
    headers.bth.opcode = wire::Opcode::rc_atomic_acknowledge;
    const bool several = rings && rng_.chance(0.7);
    // Nothing comes before the first request, so that an answer to it acknowledges no other one.
    if (stingy) headers.bth.psn = several ? to.attributes.send_psn : never_sent;
    return put(to, headers, 0, several ? 2 : 1, shot);
  }
  if (!stingy && rng_.chance(0.5)) return read_responses(to, psn, shot);
  headers.bth.opcode = wire::Opcode::rc_acknowledge;
  if (stingy) headers.bth.psn = never_sent;
  if (rng_.chance(0.5)) headers.aeth.syndrome = static_cast<std::uint8_t>(rng_.next());
  put(to, headers, rng_.chance(0.1) ? 4 : 0, rings && rng_.chance(0.3) ? 3 : 1, shot);
}

}  // namespace softrnic::sim
