#include "samehost/packet_ring.h"

#include <algorithm>
#include <cstring>

#include "base/memory_copy.h"
#include "samehost/fetch_once.h"
#include "wire/headers.h"

namespace softrnic::samehost {
namespace {

constexpr std::uint32_t kMostPackets = 1U << 16;

constexpr std::size_t lines(std::size_t bytes) { return (bytes + kRingLine - 1) / kRingLine * kRingLine; }

std::atomic_ref<std::uint32_t> size_at(std::byte* place) {
  return std::atomic_ref<std::uint32_t>(*reinterpret_cast<std::uint32_t*>(place));
}

/// Whether a record of this size can begin at that position.
bool fits(std::uint64_t position, std::uint32_t size) {
  return size % kRingLine == 0 && size <= kRingBytes - position % kRingBytes;
}

RingRoute route_of(const ib::AddressVector& path) {
  RingRoute route;
  route.source = path.source;
  route.destination = path.destination;
  if (!path.destination.is_ipv4()) route.flow_label = path.flow_label;
  route.interface_index = path.interface_index;
  route.traffic_class = path.traffic_class;
  route.hop_limit = path.hop_limit;
  return route;
}

std::byte* put_pieces(std::byte* to, const ib::TxPacket& packet) {
  for (std::size_t i = 0; i < packet.fragment_count; ++i) {
    const ib::Fragment& fragment = packet.fragments[i];
    const RingPiece piece{reinterpret_cast<std::uint64_t>(fragment.data),
                          static_cast<std::uint32_t>(fragment.size), fragment.key};
    std::memcpy(to, &piece, sizeof piece);
    to += sizeof piece;
  }
  return to;
}

void put_payload(std::byte* to, const ib::TxPacket& packet) {
  for (std::size_t i = 0; i < packet.fragment_count; ++i) {
    const ib::Fragment& fragment = packet.fragments[i];
    copy_memory(to, fragment.data, fragment.size);
    to += fragment.size;
  }
}

}  // namespace

// ---- the writer

RingWriter::RingWriter(PacketRing& ring)
    : ring_(&ring), end_(position_read() / kRingLine * kRingLine), read_(end_) {
  const std::uint64_t stop = end_ + kRingBytes;
  for (;;) {
    const std::uint32_t size = size_at(at(end_)).load(std::memory_order_relaxed);
    if (size == 0 || !fits(end_, size) || end_ + size >= stop) return;
    end_ += size;
  }
}

std::size_t RingWriter::unread() {
  read_ = position_read();
  return end_ - read_;
}

// Behind a record is the mark of its end. A look at how far the reader is costs the transfer of a cache line.
std::size_t RingWriter::room() {
  const std::size_t known = end_ - read_;
  const std::size_t free = kRingBytes - (known <= kRingBytes / 4 ? known : unread());
  return free < 2 * kRingLine ? 0 : free - 2 * kRingLine;
}

bool RingWriter::make_room(std::size_t size) {
  const std::size_t to_end = kRingBytes - end_ % kRingBytes;
  const std::size_t skipped = size > to_end ? to_end : 0;
  const std::size_t need = skipped + size + kRingLine;
  if (need > kRingBytes - (end_ - read_) && need > kRingBytes - unread()) return false;
  if (skipped != 0) publish(skipped, {.kind = RingKind::skip});
  return true;
}

void RingWriter::publish(std::size_t size, RingRecord record) {
  std::byte* const place = at(end_);
  std::memcpy(place + sizeof record.size, &record.kind, sizeof record - sizeof record.size);
  end_ += size;
  size_at(at(end_)).store(0, std::memory_order_relaxed);
  size_at(place).store(static_cast<std::uint32_t>(size), std::memory_order_release);
}

bool RingWriter::write_route(const ib::AddressVector& path) {
  const RingRoute route = route_of(path);
  if (route_ && *route_ == route) return true;
  const std::size_t size = lines(sizeof(RingRecord) + sizeof route);
  if (!make_room(size)) return false;
  std::memcpy(at(end_) + sizeof(RingRecord), &route, sizeof route);
  publish(size, {.kind = RingKind::route});
  route_ = route;
  return true;
}

bool RingWriter::write(const ib::TxPacket& packet, bool rendezvous) {
  wire::Headers headers = packet.headers;
  if (rendezvous) headers.bth.pad = 0;
  std::byte encoded[wire::kMaxHeaderBytes];
  const std::size_t header_bytes = wire::encode(headers, encoded);
  const std::size_t payload =
      rendezvous ? packet.fragment_count * sizeof(RingPiece) : packet.payload_bytes + headers.bth.pad;
  const std::size_t size = lines(sizeof(RingRecord) + header_bytes + payload);
  if (!write_route(*packet.path) || !make_room(size)) return false;
  std::byte* to = at(end_) + sizeof(RingRecord);
  if (rendezvous) to = put_pieces(to, packet);
  std::memcpy(to, encoded, header_bytes);
  if (!rendezvous) put_payload(to + header_bytes, packet);
  publish(size, {.kind = rendezvous ? RingKind::rendezvous : RingKind::packet,
                 .header_bytes = static_cast<std::uint8_t>(header_bytes),
                 .pieces = rendezvous ? packet.fragment_count : std::uint16_t{0},
                 .payload_bytes = packet.payload_bytes,
                 .packets = packet.packets});
  return true;
}

bool RingWriter::write(const ib::EagerSend& eager, const ib::AddressVector& path, std::uint32_t token) {
  const std::size_t size = lines(sizeof(RingRecord) + sizeof(RingEager) + eager.payload.size());
  if (!write_route(path) || !make_room(size)) return false;
  const RingEager head{.destination = eager.destination.value,
                       .psn = eager.psn,
                       .immediate = eager.immediate,
                       .token = token,
                       .pkey = eager.pkey,
                       .has_immediate = eager.has_immediate,
                       .solicited = eager.solicited};
  std::byte* const to = at(end_) + sizeof(RingRecord);
  std::memcpy(to, &head, sizeof head);
  if (!eager.payload.empty()) std::memcpy(to + sizeof head, eager.payload.data(), eager.payload.size());
  publish(size, {.kind = RingKind::eager, .payload_bytes = static_cast<std::uint32_t>(eager.payload.size())});
  return true;
}

// ---- the reader

bool RingReader::any() const { return !broken() && size_at(next()).load(std::memory_order_acquire) != 0; }

// A writer never has more unread than the memory holds, so records that run in a circle do not
// keep the reader for ever.
bool RingReader::credible(const RingRecord& record) const {
  return record.size >= sizeof record && fits(position(), record.size) &&
         position() + record.size - given_back_ <= kRingBytes - kRingLine && record.kind <= RingKind::eager;
}

void RingReader::give_up() { broken_.store(true, std::memory_order_relaxed); }

// The oldest record that is for others than this reader itself.
bool RingReader::find(RingRecord& record) {
  while (any()) {
    record = fetch_once<RingRecord>(next());
    if (!credible(record)) {
      give_up();
      return false;
    }
    front_size_ = record.size;
    if (record.kind >= RingKind::packet) return true;
    if (record.kind == RingKind::route) route_ = fetch_once<RingRoute>(next() + sizeof record);
    pop();
  }
  return false;
}

std::optional<RingPacket> RingReader::front() {
  RingRecord record;
  if (!find(record) || record.kind == RingKind::eager) return std::nullopt;
  auto packet = open(record);
  if (!packet) give_up();
  return packet;
}

bool RingReader::front(RingEagerSend& out) {
  RingRecord record;
  if (!find(record) || record.kind != RingKind::eager) return false;
  if (record.payload_bytes > ib::EagerSend::kMostBytes ||
      sizeof record + sizeof(RingEager) + record.payload_bytes > record.size) {
    give_up();
    return false;
  }
  const auto head = fetch_once<RingEager>(next() + sizeof record);
  out.eager = {.destination = Qpn(head.destination & wire::kPsnMask),
               .psn = head.psn & wire::kPsnMask,
               .immediate = head.immediate,
               .pkey = head.pkey,
               .has_immediate = head.has_immediate != 0,
               .solicited = head.solicited != 0,
               .payload = {next() + sizeof record + sizeof head, record.payload_bytes}};
  out.token = head.token;
  out.route = &route_;
  return true;
}

std::optional<RingPacket> RingReader::open(const RingRecord& record) const {
  const std::byte* from = next() + sizeof record;
  const std::size_t size = record.size - sizeof record;
  const std::size_t pieces = record.kind == RingKind::rendezvous ? record.pieces : 0;
  const std::size_t before = pieces * sizeof(RingPiece);
  const std::size_t inside = record.kind == RingKind::packet
                                 ? record.payload_bytes + std::size_t{wire::pad_for(record.payload_bytes)}
                                 : 0;
  if (before + record.header_bytes + inside > size || record.packets == 0 || record.packets > kMostPackets ||
      pieces > ib::TxPacket::kMaxFragments)
    return std::nullopt;
  return RingPacket{record,
                    &route_,
                    {from + before, record.header_bytes + inside},
                    {reinterpret_cast<const RingPiece*>(from), pieces}};
}

}  // namespace softrnic::samehost
