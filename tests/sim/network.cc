#include "tests/sim/network.h"

#include <algorithm>

#include "tests/sim/trace.h"
#include "transport/ib/rx_packet.h"

namespace softrnic::sim {

namespace {

/// The ICRC of BTH to pad, as the link computes it.
std::uint32_t icrc_of(const wire::Flow& flow, Bytes packet, std::size_t header_bytes) {
  wire::Icrc icrc(flow, packet.size() + wire::kIcrcBytes, 0);
  icrc.add_headers(packet.first(header_bytes));
  icrc.add(packet.subspan(header_bytes));
  return icrc.value();
}

wire::Flow flow_of(const ib::AddressVector& path) {
  wire::Flow flow;
  flow.source = path.source;
  flow.destination = path.destination;
  flow.source_port = path.source_port;
  flow.traffic_class = path.traffic_class;
  flow.hop_limit = path.hop_limit;
  flow.flow_label = path.flow_label;
  return flow;
}

}  // namespace

Network::Network(const Faults& faults, std::uint32_t adapters, std::uint64_t seed)
    : faults_(faults), rng_(seed), adapters_(adapters), last_arrival_(std::size_t{adapters} * adapters) {}

std::uint32_t Network::take_place() {
  ++under_way_;
  if (free_.empty()) {
    flights_.emplace_back();
    return static_cast<std::uint32_t>(flights_.size() - 1);
  }
  const std::uint32_t index = free_.back();
  free_.pop_back();
  return index;
}

void Network::release(std::uint32_t index) {
  flights_[index].used = false;
  free_.push_back(index);
  --under_way_;
}

void Network::put_payload(const ib::TxPacket& packet, Flight& f, std::size_t at, std::string& error) const {
  const std::size_t end = at + packet.payload_bytes;
  for (std::uint16_t i = 0; i < packet.fragment_count; ++i) {
    const ib::Fragment& piece = packet.fragments[i];
    if (at + piece.size > end) break;
    if (piece.size != 0) std::memcpy(f.bytes.data() + at, piece.data, piece.size);
    at += piece.size;
  }
  if (at != end) error = "the fragments of a packet do not add up to its payload";
}

void Network::leave_payload(const ib::TxPacket& packet, Flight& f, std::string& error) const {
  std::size_t bytes = 0;
  for (std::uint16_t i = 0; i < packet.fragment_count; ++i) {
    const ib::Fragment& piece = packet.fragments[i];
    Region* const region = f.at->find(piece.key);
    const auto* begin = region == nullptr ? nullptr : region->bytes().data();
    if (region == nullptr || piece.data < begin || piece.data + piece.size > begin + region->size())
      error = format("a fragment of a packet does not lie in the region of key %x", piece.key.value);
    else
      f.pieces.push_back({piece.key, static_cast<std::size_t>(piece.data - begin), piece.size});
    bytes += piece.size;
  }
  if (bytes != packet.payload_bytes) error = "the fragments of a packet do not add up to its payload";
}

std::uint32_t Network::encode(const ib::TxPacket& packet, Memory* stays_in, std::string& error) {
  ++packets_;
  const std::uint32_t index = take_place();
  Flight& f = flights_[index];
  f.used = true;
  f.flow = flow_of(*packet.path);
  f.packets = packet.packets;
  f.at = stays_in;
  f.eager = f.hostile = false;
  f.pieces.clear();
  const std::uint32_t payload = stays_in == nullptr ? packet.payload_bytes : 0;
  wire::Headers headers = packet.headers;
  headers.bth.pad = wire::pad_for(payload);
  f.bytes.resize(wire::kMaxHeaderBytes + payload + 3 + wire::kIcrcBytes);
  const std::size_t header_bytes = wire::encode(headers, f.bytes);
  if (stays_in == nullptr)
    put_payload(packet, f, header_bytes, error);
  else
    leave_payload(packet, f, error);
  std::size_t at = header_bytes + payload;
  for (int i = 0; i < headers.bth.pad; ++i) f.bytes[at++] = std::byte{0};
  const std::uint32_t icrc = icrc_of(f.flow, Bytes(f.bytes).first(at), header_bytes);
  f.bytes.resize(at + wire::kIcrcBytes);
  std::memcpy(f.bytes.data() + at, &icrc, sizeof icrc);
  return index;
}

std::uint32_t Network::inject(const wire::Flow& flow, Bytes body, std::uint32_t packets, bool good_icrc) {
  const std::uint32_t index = take_place();
  Flight& f = flights_[index];
  f = Flight();
  f.flow = flow;
  f.bytes.assign(body.begin(), body.end());
  f.packets = packets;
  f.hostile = f.used = true;
  f.bytes.resize(body.size() + wire::kIcrcBytes);
  std::uint32_t icrc = body.size() < wire::kBthBytes ? 0 : icrc_of(flow, body, wire::kBthBytes);
  if (!good_icrc) icrc ^= 1;
  std::memcpy(f.bytes.data() + body.size(), &icrc, sizeof icrc);
  return index;
}

std::uint32_t Network::inject(const Flight& seen) {
  const std::uint32_t index = take_place();
  flights_[index] = seen;
  return index;
}

bool Network::fetch(std::uint32_t index, std::size_t offset, std::byte* to, std::size_t size) {
  const Flight& f = flights_[index];
  if (!healed_ && rng_.chance(faults_.gone)) return false;
  for (const Piece& piece : f.pieces) {
    if (size == 0) break;
    if (offset >= piece.size) {
      offset -= piece.size;
      continue;
    }
    Region* const region = f.at->find(piece.key);
    if (region == nullptr || !region->usable) return false;
    const std::size_t part = std::min(size, piece.size - offset);
    std::memcpy(to, region->bytes().data() + piece.offset + offset, part);
    to += part;
    size -= part;
    offset = 0;
  }
  return size == 0;
}

bool Network::dark(TimePoint now) const {
  if (faults_.blackout_every.count() == 0) return false;
  const auto phase = now.time_since_epoch() % (faults_.blackout_every + faults_.blackout_length);
  return phase >= faults_.blackout_every;
}

TimePoint Network::awake(std::uint32_t adapter, TimePoint now) const {
  if (faults_.pause_every.count() == 0 || healed_) return now;
  const Duration period = faults_.pause_every + faults_.pause_length;
  const Duration phase = (now.time_since_epoch() + period / 3 * adapter) % period;
  return phase < faults_.pause_every ? now : now + (period - phase);
}

void Network::make_eager(std::uint32_t flight, std::uint32_t connection) {
  flights_[flight].eager = true;
  flights_[flight].connection = connection;
}

Fate Network::draw_fate(std::uint32_t from, std::uint32_t to, TimePoint now) {
  Fate fate;
  if (!healed_) {
    fate.lost = dark(now) || rng_.chance(faults_.loss);
    fate.corrupted = rng_.chance(faults_.corrupt);
    fate.overtaken = rng_.chance(faults_.reorder);
    if (rng_.chance(faults_.duplicate)) fate.copies = 2;
  }
  if (fate.lost) ++lost_;
  if (fate.copies > 1) ++duplicates_;
  TimePoint& last = last_arrival_[std::size_t{from} * adapters_ + to];
  for (int i = 0; i < fate.copies; ++i) {  // a copy comes after its original
    TimePoint at =
        now + faults_.delay + Duration(rng_.below(static_cast<std::uint64_t>(faults_.jitter.count()) + 1));
    if (i > 0) at = fate.at[0];
    if (fate.overtaken || i > 0) {
      at += Duration(rng_.below(static_cast<std::uint64_t>(faults_.reorder_by.count()) + 1));
    } else {
      at = last = std::max(last, at);
    }
    fate.at[i] = at;
  }
  return fate;
}

void Network::corrupt(std::uint32_t index) {
  auto& bytes = flights_[index].bytes;
  const std::uint64_t flips = rng_.range(1, 3);
  for (std::uint64_t i = 0; i < flips; ++i)
    bytes[rng_.below(bytes.size())] ^= static_cast<std::byte>(rng_.range(1, 255));
}

void Network::falsify(std::uint32_t index) {
  Flight& f = flights_[index];
  const Bytes body = Bytes(f.bytes).first(f.bytes.size() - wire::kIcrcBytes);
  const auto parsed = wire::parse(body);
  if (!parsed || parsed->payload.empty()) return;
  f.bytes[static_cast<std::size_t>(parsed->payload.data() - body.data()) + parsed->payload.size() - 1] ^=
      std::byte{1};
  const std::uint32_t icrc = icrc_of(f.flow, body, wire::kBthBytes);
  std::memcpy(f.bytes.data() + body.size(), &icrc, sizeof icrc);
}

std::uint32_t Network::copy(std::uint32_t index) {
  const std::uint32_t twin = take_place();
  flights_[twin] = flights_[index];
  return twin;
}

bool Network::decode(std::uint32_t index, ib::RxPacket& packet, std::string& error) const {
  const Flight& f = flights_[index];
  const Bytes body = this->body(index);
  if (body.size() < wire::kBthBytes) return false;
  std::uint32_t received;
  std::memcpy(&received, f.bytes.data() + body.size(), sizeof received);
  if (icrc_of(f.flow, body, wire::kBthBytes) != received) return false;
  auto parsed = wire::parse(body);
  if (!parsed && f.hostile) return false;
  if (!parsed) {
    error =
        format("a packet that was sent cannot be parsed: opcode %02x", std::to_integer<unsigned>(f.bytes[0]));
    return false;
  }
  packet.packet = *parsed;
  packet.source = f.flow.source;
  packet.destination = f.flow.destination;
  packet.traffic_class = f.flow.traffic_class;
  packet.hop_limit = f.flow.hop_limit;
  packet.flow_label = f.flow.flow_label;
  packet.packets = f.packets;
  return true;
}

}  // namespace softrnic::sim
