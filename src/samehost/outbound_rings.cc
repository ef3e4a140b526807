#include "samehost/outbound_rings.h"

#include <algorithm>

#include "base/reason_id.h"
#include "rnic/key_table.h"
#include "samehost/doorbell.h"

namespace softrnic::samehost {
namespace {

using namespace std::chrono_literals;

/// Payloads from here on are fetched: then one copy and a system call of some 2 us cost less than two copies,
/// which two processors share.
constexpr std::uint32_t kRendezvousBytes = 24 * 1024;
/// A lane that has not read its ring for so long may be gone.
constexpr Duration kStuck = 10ms;

}  // namespace

class OutboundRings::RingGauge final : public ib::Gauge {
 public:
  RingGauge(OutboundRings& rings, std::uint8_t to) : rings_(rings), to_(to) {}
  bool knows(TimePoint) override { return ring() != nullptr; }
  std::uint32_t room(TimePoint now) override {
    if (ring() == nullptr) return 0;
    rings_.watch(to_, *ring(), now);  // a lane that waits for room writes nothing
    if (ring()->peer.reception().throttles[rings_.lane_].load(std::memory_order_relaxed) != 0) return 0;
    const std::size_t room = ring()->writer.room();
    return room < kLeftToRc ? 0 : static_cast<std::uint32_t>(room - kLeftToRc);
  }
  bool reserves() const override { return false; }  // RC writes there, and other paths to the same lane

 private:
  Ring* ring() const { return rings_.rings_[to_].get(); }

  OutboundRings& rings_;
  const std::uint8_t to_;
};

OutboundRings::OutboundRings(std::uint8_t lane, const DirectShare& share, const DirectShare::LaneSlot& slot)
    : lane_(lane), share_(share), reception_(*slot.reception) {
  to_wake_.reserve(kLaneNumbers);
}

OutboundRings::~OutboundRings() = default;

// ---- to whom

void OutboundRings::connect(std::uint8_t lane, DirectPeer& peer, UniqueFd doorbell) {
  if (is_refused_by(peer)) return;
  if (gauges_[lane] == nullptr) gauges_[lane] = std::make_unique<RingGauge>(*this, lane);
  rings_[lane] = std::make_unique<Ring>(peer, std::move(doorbell));
  const bool fetches = peer.attached() && peer.lets_this_thread_in();
  reception_.fetches[lane].store(fetches ? 1 : 0, std::memory_order_release);
  peer.inbox().writers[lane_].store(1, std::memory_order_relaxed);
  peer.inbox().arrivals.fetch_add(1, std::memory_order_acq_rel);
}

void OutboundRings::disconnect(std::uint8_t lane) {
  rings_[lane].reset();
  std::erase(to_wake_, lane);
  reception_.fetches[lane].store(0, std::memory_order_release);
}

ib::Gauge& OutboundRings::gauge(std::uint8_t lane) { return *gauges_[lane]; }

void OutboundRings::set_addresses(const std::vector<device::GidEntry>& addresses) {
  addresses_.clear();
  for (const device::GidEntry& entry : addresses) addresses_.push_back(entry.gid);
}

OutboundRings::Ring* OutboundRings::ring_for(const ib::TxPacket& packet) {
  Ring* const ring = rings_[packet.headers.bth.destination.lane()].get();
  if (ring == nullptr) return nullptr;
  const wire::Gid& to = packet.path->destination;
  return std::find(addresses_.begin(), addresses_.end(), to) != addresses_.end() ? ring : nullptr;
}

bool OutboundRings::goes_by_rendezvous(const Ring& ring, const ib::TxPacket& packet) const {
  if (packet.payload_bytes < kRendezvousBytes || packet.again ||
      !wire::is_reliable(wire::opcode_info(packet.headers.bth.opcode).service) ||
      ring.peer.reception().fetches[lane_].load(std::memory_order_acquire) == 0 ||
      !share_.admits(packet.headers.bth.destination.lane()))
    return false;
  return std::all_of(
      packet.fragments, packet.fragments + packet.fragment_count, [](const ib::Fragment& piece) {
        return piece.key.value != 0 && piece.key.value >> rnic::KeyTable::kTagBits < kDirectKeys;
      });
}

// ---- what is sent

bool OutboundRings::send(const ib::TxPacket& packet, TimePoint now) {
  Ring* const ring = ring_for(packet);
  if (ring == nullptr) return false;
  const Qpn to = packet.headers.bth.destination;
  if (ring->writer.write(packet, goes_by_rendezvous(*ring, packet))) {
    note_written(to.lane(), *ring, now);
  } else {
    note_dropped(*ring, to, now);
  }
  return true;
}

void OutboundRings::send(const ib::EagerSend& eager, const ib::AddressVector& path, std::uint32_t token,
                         TimePoint now) {
  const std::uint8_t lane = eager.destination.lane();
  Ring& ring = *rings_[lane];
  if (ring.writer.write(eager, path, token)) return note_written(lane, ring, now);
  note_dropped(ring, eager.destination, now);
}

void OutboundRings::note_written(std::uint8_t lane, Ring& ring, TimePoint now) {
  wake_later(lane, ring);
  watch(lane, ring, now);
}

void OutboundRings::note_dropped(Ring& ring, Qpn qpn, TimePoint now) {
  ++ring.dropped;
  ring.dropped_to = qpn;
  any_dropped_ = true;
  watch(qpn.lane(), ring, now);
}

void OutboundRings::wake_later(std::uint8_t lane, Ring& ring) {
  if (!std::exchange(ring.to_wake, true)) to_wake_.push_back(lane);
}

void OutboundRings::acknowledge(Qpn peer, std::uint32_t token, std::uint32_t psn, std::uint8_t credit) {
  Ring& ring = *rings_[peer.lane()];
  ring.peer.ack(peer).word.store(EagerAck::word_of(token, psn, credit), std::memory_order_release);
  wake_later(peer.lane(), ring);
}

// A process that is killed takes nothing out of its ring, and its lane is given to another one.
void OutboundRings::watch(std::uint8_t lane, Ring& ring, TimePoint now) {
  if (now < ring.watch_at) return;  // a look costs the transfer of a cache line
  ring.watch_at = now + kStuck;
  const std::uint64_t read = ring.writer.position_read();
  if (read == ring.read) stuck_ = lane;
  ring.read = read;
}

void OutboundRings::ring_doorbells() {
  for (const std::uint8_t lane : to_wake_) {
    Ring& ring = *rings_[lane];
    ring.to_wake = false;
    std::atomic<std::uint32_t>& asleep = ring.peer.inbox().asleep;
    if (asleep.load(std::memory_order_relaxed) == 0) continue;
    if (asleep.exchange(0, std::memory_order_acq_rel) != 0) ring_doorbell(ring.doorbell);
  }
  to_wake_.clear();
}

void OutboundRings::report(link::Receiver& receiver) {
  if (!std::exchange(any_dropped_, false)) return;
  for (const auto& ring : rings_) {
    if (ring == nullptr || ring->dropped == 0) continue;
    receiver.dropped(because(ReasonId::drop_ring_full, ring->dropped_to.value), ib::Counter::send_errors,
                     ring->dropped_to, std::exchange(ring->dropped, 0));
  }
}

}  // namespace softrnic::samehost
