#include "samehost/inbound_rings.h"

#include <algorithm>
#include <span>

#include "base/reason_id.h"
#include "samehost/fetch_once.h"

namespace softrnic::samehost {
namespace {

constexpr std::size_t kMostAtOnce = 64;  ///< packets of a ring before the next one has its turn
/// Nor more bytes than this: the program is to see what has come, and its peer the ACKs,
/// while more is on its way.
constexpr std::size_t kMostBytesAtOnce = 128 * 1024;

}  // namespace

/// The payload of a packet that stayed with its sender.
class InboundRings::Fetch final : public ib::PayloadSource {
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

// ---- who writes

void InboundRings::adopt_new_writers() {
  const std::uint32_t arrivals = slot_.inbox->arrivals.load(std::memory_order_acquire);
  if (arrivals == arrivals_.load(std::memory_order_relaxed)) return;
  for (std::size_t lane = 0; lane < kLaneNumbers; ++lane) {
    if (readers_[lane] || slot_.inbox->writers[lane].load(std::memory_order_relaxed) == 0) continue;
    PacketRing* const ring = share_.ring(slot_.index, static_cast<std::uint8_t>(lane));
    if (ring == nullptr) return;  // looked at again; until then it is as if packets were lost
    readers_[lane].emplace(*ring);
    const std::uint32_t count = count_.load(std::memory_order_relaxed);
    lanes_[count] = static_cast<std::uint8_t>(lane);
    list_[count].store(&*readers_[lane], std::memory_order_relaxed);
    count_.store(count + 1, std::memory_order_release);
  }
  arrivals_.store(arrivals, std::memory_order_relaxed);
}

// Whoever writes there finds out when it looks why its ring is not read, and takes to packets.
void InboundRings::refuse(std::uint8_t lane, link::Receiver& receiver) {
  if (slot_.reception->refuses[lane].exchange(1, std::memory_order_acq_rel) != 0) return;
  const DirectPeer* const peer = outbound_.peer(lane);
  const pid_t writer = peer != nullptr ? peer->pid() : 0;
  receiver.dropped(because(ReasonId::drop_ring_broken, lane, writer), ib::Counter::drop_malformed, Qpn(), 1);
}

bool InboundRings::have_packet() const {
  const std::uint32_t count = count_.load(std::memory_order_acquire);
  for (std::uint32_t i = 0; i < count; ++i)
    if (list_[i].load(std::memory_order_relaxed)->any()) return true;
  return slot_.inbox->arrivals.load(std::memory_order_relaxed) != arrivals_.load(std::memory_order_relaxed);
}

// ---- what has come

std::size_t InboundRings::receive(link::Receiver& receiver) {
  adopt_new_writers();
  std::size_t packets = 0;
  const std::uint32_t count = count_.load(std::memory_order_relaxed);
  for (std::uint32_t i = 0; i < count; ++i)
    packets += read(lanes_[i], *list_[i].load(std::memory_order_relaxed), receiver);
  return packets;
}

std::size_t InboundRings::receive_eagers(link::Receiver& receiver, std::size_t most) {
  std::size_t eagers = 0;
  const std::uint32_t count = count_.load(std::memory_order_relaxed);
  for (std::uint32_t i = 0; i < count && eagers < most; ++i) {
    RingReader& ring = *list_[i].load(std::memory_order_relaxed);
    const std::size_t n = read_eagers(lanes_[i], ring, receiver, most - eagers);
    if (n != 0) ring.give_back();
    eagers += n;
  }
  return eagers;
}

std::size_t InboundRings::read(std::uint8_t lane, RingReader& ring, link::Receiver& receiver) {
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

std::size_t InboundRings::read_eagers(std::uint8_t lane, RingReader& ring, link::Receiver& receiver,
                                      std::size_t most) {
  std::size_t eagers = 0;
  RingEagerSend message;
  for (; eagers < most && ring.front(message) && eager_receiver_.eager(message, lane); ++eagers) ring.pop();
  if (ring.broken()) refuse(lane, receiver);
  return eagers;
}

// An eager send that is not taken as one is handed on as its packet.
InboundRings::Taken InboundRings::read_one(std::uint8_t lane, RingReader& ring, link::Receiver& receiver) {
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
  Fetch fetch(outbound_.peer(lane), packet->pieces);
  if (decode(*packet, fetch)) return hand_over(ring, receiver);
  ring.pop();
  receiver.dropped(because(ReasonId::drop_malformed, packet->headers.size(), 0), ib::Counter::drop_malformed,
                   Qpn(), 1);
  return Taken::packet;
}

// A packet is taken off before it is handed on: should memory run out in that, it is lost,
// and does not come for ever.
InboundRings::Taken InboundRings::hand_over(RingReader& ring, link::Receiver& receiver) {
  ring.pop();
  receiver.packet(rx_);
  return Taken::packet;
}

bool InboundRings::decode(const RingPacket& from, Fetch& fetch) {
  if (!wire::parse_into(from.headers, rx_.packet)) return false;
  const bool rendezvous = from.record.kind == RingKind::rendezvous;
  take_route(*from.route);
  rx_.packets = from.record.packets;
  rx_.rendezvous = rendezvous ? &fetch : nullptr;
  rx_.rendezvous_bytes = rendezvous ? from.record.payload_bytes : 0;
  return true;
}

// The packet that an eager send stands for.
void InboundRings::decode(const RingEagerSend& from) {
  const ib::EagerSend& eager = from.eager;
  take_route(*from.route);
  ib::put_headers(eager, rx_.packet.headers);
  rx_.packet.info = &wire::opcode_info(rx_.packet.headers.bth.opcode);
  rx_.packet.payload = eager.payload;
  rx_.packets = 1;
  rx_.rendezvous = nullptr;
  rx_.rendezvous_bytes = 0;
}

void InboundRings::take_route(const RingRoute& route) {
  rx_.source = route.source;
  rx_.destination = route.destination;
  rx_.traffic_class = route.traffic_class;
  rx_.hop_limit = route.hop_limit;
  rx_.flow_label = route.flow_label;
  rx_.interface_index = route.interface_index;
}

}  // namespace softrnic::samehost
