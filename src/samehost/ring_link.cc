#include "samehost/ring_link.h"

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "rnic/key_table.h"
#include "samehost/doorbell.h"
#include "samehost/fetch_once.h"
#include "transport/ib/rx_packet.h"

namespace softrnic::samehost {
namespace {

using namespace std::chrono_literals;

/// Payloads from here on are fetched: then one copy and a system call cost less than two copies.
constexpr std::uint32_t kRendezvousBytes = 8 * 1024;
constexpr std::size_t kMostAtOnce = 64;  ///< packets of a ring before the next one has its turn
/// Nor more bytes than this: the program is to see what has come, and its peer the ACKs,
/// while more is on its way.
constexpr std::size_t kMostBytesAtOnce = 128 * 1024;
/// How often the socket is looked at while messages go through memory, which costs as much as one of them.
constexpr Duration kPollBelow = 25us;
constexpr Duration kActive = 1ms;
/// A lane that has not read its ring for so long may be gone.
constexpr Duration kStuck = 10ms;

}  // namespace

/// The payload of a packet that stayed with its sender.
class RingLink::Fetch final : public ib::PayloadSource {
 public:
  Fetch(DirectPeer* from, std::span<const RingPiece> pieces) : from_(from), pieces_(pieces) {}

  bool copy(std::size_t offset, std::byte* to, std::size_t size) override {
    if (from_ == nullptr || !from_->attached()) return false;
    const DirectPeer::AccessGuard access(*from_);
    if (!access) return false;
    for (std::size_t i = 0; i < pieces_.size() && size > 0; ++i) {
      const auto piece = fetch_once<RingPiece>(&pieces_[i]);
      if (offset >= piece.bytes) {
        offset -= piece.bytes;
        continue;
      }
      const std::size_t part = std::min(size, piece.bytes - offset);
      const std::uint64_t address = piece.address + offset;
      if (!from_->holds(piece.key, address, part) || !from_->remote().fetch(to, address, part)) return false;
      to += part;
      size -= part;
      offset = 0;
    }
    return size == 0;
  }

 private:
  DirectPeer* from_;
  std::span<const RingPiece> pieces_;
};

class RingLink::RingGauge final : public ib::Gauge {
 public:
  RingGauge(const std::unique_ptr<OutboundRing>& out, std::uint8_t own_lane)
      : outbound_(out), lane_(own_lane) {}
  bool knows(TimePoint) override { return outbound_ != nullptr; }
  std::uint32_t room(TimePoint) override {
    if (outbound_ == nullptr ||
        outbound_->peer.reception().throttles[lane_].load(std::memory_order_relaxed) != 0)
      return 0;
    return static_cast<std::uint32_t>(outbound_->ring.room());
  }

 private:
  const std::unique_ptr<OutboundRing>& outbound_;
  const std::uint8_t lane_;
};

RingLink::RingLink(std::unique_ptr<link::Link> below, std::uint8_t lane, DirectShare& share,
                   const DirectShare::LaneSlot& slot, UniqueFd doorbell, EagerReceiver& eagers)
    : below_(std::move(below)),
      lane_(lane),
      share_(share),
      slot_(slot),
      doorbell_(std::move(doorbell)),
      eager_receiver_(eagers) {
  to_wake_.reserve(kLaneNumbers);
}

RingLink::~RingLink() = default;

// ---- local peers

void RingLink::connect(std::uint8_t lane, DirectPeer& peer, UniqueFd doorbell) {
  if (is_refused_by(peer)) return;
  if (gauges_[lane] == nullptr) gauges_[lane] = std::make_unique<RingGauge>(outbound_[lane], lane_);
  outbound_[lane] = std::make_unique<OutboundRing>(peer, std::move(doorbell));
  const bool fetches = peer.attached() && peer.lets_this_thread_in();
  slot_.reception->fetches[lane].store(fetches ? 1 : 0, std::memory_order_release);
  peer.inbox().writers[lane_].store(1, std::memory_order_relaxed);
  peer.inbox().arrivals.fetch_add(1, std::memory_order_acq_rel);
}

void RingLink::disconnect(std::uint8_t lane) {
  outbound_[lane].reset();
  std::erase(to_wake_, lane);
  slot_.reception->fetches[lane].store(0, std::memory_order_release);
}

int RingLink::take_stuck() { return std::exchange(stuck_, -1); }

ib::Gauge& RingLink::gauge(std::uint8_t lane) { return *gauges_[lane]; }

void RingLink::set_addresses(std::vector<device::GidEntry> addresses) {
  addresses_.clear();
  for (const device::GidEntry& entry : addresses) addresses_.push_back(entry.gid);
  below_->set_addresses(std::move(addresses));
}

// ---- sending

RingLink::OutboundRing* RingLink::outbound_to(const ib::TxPacket& packet) {
  OutboundRing* const out = outbound_[packet.headers.bth.destination.lane()].get();
  if (out == nullptr) return nullptr;
  const wire::Gid& to = packet.path->destination;
  return std::find(addresses_.begin(), addresses_.end(), to) != addresses_.end() ? out : nullptr;
}

bool RingLink::goes_by_rendezvous(const OutboundRing& out, const ib::TxPacket& packet) const {
  if (packet.payload_bytes < kRendezvousBytes || packet.again ||
      !wire::is_reliable(wire::opcode_info(packet.headers.bth.opcode).service) ||
      out.peer.reception().fetches[lane_].load(std::memory_order_acquire) == 0 ||
      !share_.admits(packet.headers.bth.destination.lane()))
    return false;
  return std::all_of(
      packet.fragments, packet.fragments + packet.fragment_count, [](const ib::Fragment& piece) {
        return piece.key.value != 0 && piece.key.value >> rnic::KeyTable::kTagBits < kDirectKeys;
      });
}

void RingLink::send(const ib::TxPacket& packet, TimePoint now) {
  OutboundRing* const out = outbound_to(packet);
  if (out == nullptr) return below_->send(packet, now);
  const std::uint8_t lane = packet.headers.bth.destination.lane();
  if (out->ring.write(packet, goes_by_rendezvous(*out, packet))) return note_written(lane, *out, now);
  note_dropped(*out, packet.headers.bth.destination, now);
}

void RingLink::send(const ib::EagerSend& eager, const ib::AddressVector& path, std::uint32_t token,
                    TimePoint now) {
  const std::uint8_t lane = eager.destination.lane();
  OutboundRing& out = *outbound_[lane];
  if (out.ring.write(eager, path, token)) return note_written(lane, out, now);
  note_dropped(out, eager.destination, now);
}

void RingLink::note_written(std::uint8_t lane, OutboundRing& out, TimePoint now) {
  wake_later(lane, out);
  watch(lane, out, now);
}

void RingLink::note_dropped(OutboundRing& out, Qpn qpn, TimePoint now) {
  ++out.dropped;
  out.dropped_to = qpn;
  any_dropped_ = true;
  watch(qpn.lane(), out, now);
}

void RingLink::wake_later(std::uint8_t lane, OutboundRing& out) {
  if (!std::exchange(out.to_wake, true)) to_wake_.push_back(lane);
}

void RingLink::acknowledge(Qpn peer, std::uint32_t token, std::uint32_t psn) {
  OutboundRing& out = *outbound_[peer.lane()];
  out.peer.ack(peer).word.store(EagerAck::word_of(token, psn), std::memory_order_release);
  wake_later(peer.lane(), out);
}

// A process that is killed takes nothing out of its ring, and its lane is given to another one.
void RingLink::watch(std::uint8_t lane, OutboundRing& out, TimePoint now) {
  if (now < out.watch_at) return;  // a look costs the transfer of a cache line
  out.watch_at = now + kStuck;
  const std::uint64_t read = out.ring.position_read();
  if (read == out.read) stuck_ = lane;
  out.read = read;
}

void RingLink::flush(TimePoint now) {
  ring_doorbells();
  below_->flush(now);
}

void RingLink::ring_doorbells() {
  for (const std::uint8_t lane : to_wake_) {
    OutboundRing& out = *outbound_[lane];
    out.to_wake = false;
    std::atomic<std::uint32_t>& asleep = out.peer.inbox().asleep;
    if (asleep.load(std::memory_order_relaxed) == 0) continue;
    if (asleep.exchange(0, std::memory_order_acq_rel) != 0) ring_doorbell(out.doorbell);
  }
  to_wake_.clear();
}

void RingLink::report(link::Receiver& receiver) {
  if (!std::exchange(any_dropped_, false)) return;
  for (const auto& out : outbound_) {
    if (out == nullptr || out->dropped == 0) continue;
    receiver.dropped(because(ReasonId::drop_ring_full, out->dropped_to.value), ib::Counter::send_errors,
                     out->dropped_to, std::exchange(out->dropped, 0));
  }
}

// ---- receiving

void RingLink::adopt_new_writers() {
  const std::uint32_t arrivals = slot_.inbox->arrivals.load(std::memory_order_acquire);
  if (arrivals == arrivals_.load(std::memory_order_relaxed)) return;
  for (std::size_t lane = 0; lane < kLaneNumbers; ++lane) {
    if (readers_[lane] || slot_.inbox->writers[lane].load(std::memory_order_relaxed) == 0) continue;
    PacketRing* const ring = share_.ring(slot_.index, static_cast<std::uint8_t>(lane));
    if (ring == nullptr) return;  // looked at again; until then it is as if packets were lost
    readers_[lane].emplace(*ring);
    const std::uint32_t count = reader_count_.load(std::memory_order_relaxed);
    reader_lanes_[count] = static_cast<std::uint8_t>(lane);
    reader_list_[count].store(&*readers_[lane], std::memory_order_relaxed);
    reader_count_.store(count + 1, std::memory_order_release);
  }
  arrivals_.store(arrivals, std::memory_order_relaxed);
}

// Whoever writes there finds out when it looks why its ring is not read, and takes to packets.
void RingLink::refuse(std::uint8_t lane, link::Receiver& receiver) {
  if (slot_.reception->refuses[lane].exchange(1, std::memory_order_acq_rel) != 0) return;
  const pid_t writer = outbound_[lane] != nullptr ? outbound_[lane]->peer.pid() : 0;
  receiver.dropped(because(ReasonId::drop_ring_broken, lane, writer), ib::Counter::drop_malformed, Qpn(), 1);
}

bool RingLink::rings_have_packet() const {
  const std::uint32_t count = reader_count_.load(std::memory_order_acquire);
  for (std::uint32_t i = 0; i < count; ++i)
    if (reader_list_[i].load(std::memory_order_relaxed)->any()) return true;
  return slot_.inbox->arrivals.load(std::memory_order_relaxed) != arrivals_.load(std::memory_order_relaxed);
}

bool RingLink::Activity::polled(std::int64_t ns) {
  if (traffic_.load(std::memory_order_relaxed) && traffic_.exchange(false, std::memory_order_relaxed))
    had_packets(ns);
  const bool busy = direct_traffic_.load(std::memory_order_relaxed);
  if (busy) direct_traffic_.store(false, std::memory_order_relaxed);
  if (!busy && !recent()) return false;
  if (ns - active_ns_.load(std::memory_order_relaxed) >= kActive.count())
    active_.store(false, std::memory_order_relaxed);
  return true;
}

bool RingLink::has_packet(TimePoint now) const {
  if (rings_have_packet()) return true;
  const std::int64_t ns = ns_of(now);
  if (!activity_.polled(ns)) return below_->has_packet(now);
  if (!activity_.below_is_due(ns)) return false;
  const bool below = below_->has_packet(now);
  activity_.poll_below_at(below ? 0 : ns + kPollBelow.count());
  return below;
}

std::size_t RingLink::receive(link::Receiver& receiver, TimePoint now) {
  report(receiver);
  adopt_new_writers();
  std::size_t packets = 0;
  const std::uint32_t count = reader_count_.load(std::memory_order_relaxed);
  for (std::uint32_t i = 0; i < count; ++i)
    packets += read(reader_lanes_[i], *reader_list_[i].load(std::memory_order_relaxed), receiver);
  const std::int64_t ns = ns_of(now);
  if (packets != 0) activity_.had_packets(ns);
  if (active() && !activity_.below_is_due(ns)) return packets;
  activity_.poll_below_at(ns + kPollBelow.count());
  return packets + below_->receive(receiver, now);
}

std::size_t RingLink::receive_eagers(link::Receiver& receiver, std::size_t most) {
  std::size_t eagers = 0;
  const std::uint32_t count = reader_count_.load(std::memory_order_relaxed);
  for (std::uint32_t i = 0; i < count && eagers < most; ++i) {
    RingReader& ring = *reader_list_[i].load(std::memory_order_relaxed);
    const std::size_t n = read_eagers(reader_lanes_[i], ring, receiver, most - eagers);
    if (n != 0) ring.give_back();
    eagers += n;
  }
  if (eagers != 0) note_traffic();
  return eagers;
}

std::size_t RingLink::read(std::uint8_t lane, RingReader& ring, link::Receiver& receiver) {
  std::size_t packets = 0;
  for (std::size_t bytes = 0; packets < kMostAtOnce && bytes < kMostBytesAtOnce;) {
    const Taken taken = read_one(lane, ring, receiver);
    if (taken == Taken::nothing) break;
    if (taken == Taken::packet) bytes += rx_.payload_bytes();
    ++packets;
  }
  if (packets != 0) ring.give_back();
  if (ring.broken()) refuse(lane, receiver);
  return packets;
}

std::size_t RingLink::read_eagers(std::uint8_t lane, RingReader& ring, link::Receiver& receiver,
                                  std::size_t most) {
  std::size_t eagers = 0;
  RingEagerSend message;
  for (; eagers < most && ring.front(message) && eager_receiver_.eager(message, lane); ++eagers) ring.pop();
  if (ring.broken()) refuse(lane, receiver);
  return eagers;
}

// An eager send that is not taken as one is handed on as its packet.
RingLink::Taken RingLink::read_one(std::uint8_t lane, RingReader& ring, link::Receiver& receiver) {
  if (RingEagerSend message; ring.front(message)) {
    if (!eager_receiver_.eager(message, lane)) {
      decode(message);
      return hand_over(ring, receiver);
    }
    ring.pop();
    return Taken::eager;
  }
  const auto packet = ring.front();
  if (!packet) return Taken::nothing;
  Fetch fetch(outbound_[lane] != nullptr ? &outbound_[lane]->peer : nullptr, packet->pieces);
  if (decode(*packet, fetch)) return hand_over(ring, receiver);
  ring.pop();
  receiver.dropped(because(ReasonId::drop_malformed, packet->headers.size(), 0), ib::Counter::drop_malformed,
                   Qpn(), 1);
  return Taken::packet;
}

// A packet is taken off before it is handed on: should memory run out in that, it is lost,
// and does not come for ever.
RingLink::Taken RingLink::hand_over(RingReader& ring, link::Receiver& receiver) {
  ring.pop();
  receiver.packet(rx_);
  return Taken::packet;
}

bool RingLink::decode(const RingPacket& from, Fetch& fetch) {
  if (!wire::parse_into(from.headers, rx_.packet)) return false;
  const bool rendezvous = from.record.kind == RingKind::rendezvous;
  take_route(*from.route);
  rx_.packets = from.record.packets;
  rx_.rendezvous = rendezvous ? &fetch : nullptr;
  rx_.rendezvous_bytes = rendezvous ? from.record.payload_bytes : 0;
  return true;
}

void RingLink::take_route(const RingRoute& route) {
  rx_.source = route.source;
  rx_.destination = route.destination;
  rx_.traffic_class = route.traffic_class;
  rx_.hop_limit = route.hop_limit;
  rx_.flow_label = route.flow_label;
  rx_.interface_index = route.interface_index;
}

// The packet that an eager send stands for.
void RingLink::decode(const RingEagerSend& from) {
  const ib::EagerSend& eager = from.eager;
  take_route(*from.route);
  ib::put_headers(eager, rx_.packet.headers);
  rx_.packet.info = &wire::opcode_info(rx_.packet.headers.bth.opcode);
  rx_.packet.payload = eager.payload;
  rx_.packets = 1;
  rx_.rendezvous = nullptr;
  rx_.rendezvous_bytes = 0;
}

// ---- sleep

bool RingLink::arm_doorbell() {
  slot_.inbox->asleep.exchange(1, std::memory_order_acq_rel);
  if (!rings_have_packet()) return true;
  disarm_doorbell();
  return false;
}

// Who has cleared `asleep` rings a moment later, and this side may be awake by then: a ring that nobody takes
// would end every sleep to come.
void RingLink::disarm_doorbell() {
  if (slot_.inbox->asleep.exchange(0, std::memory_order_acq_rel) == 0) ++rings_due_;
  if (rings_due_ != 0) rings_due_ -= take_rings(doorbell_, rings_due_);
}

}  // namespace softrnic::samehost
