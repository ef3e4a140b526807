// The rings of other lanes of this host that a lane writes to: packets, eager sends and their ACKs, and who
// is to be woken for them.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/lane_limits.h"
#include "base/unique_fd.h"
#include "device/device_info.h"
#include "link/link.h"
#include "samehost/direct_peer.h"
#include "samehost/direct_share.h"
#include "samehost/packet_ring.h"
#include "transport/ib/eager_send.h"
#include "transport/ib/gauge.h"
#include "transport/ib/types.h"

namespace softrnic::samehost {

/// Those of a lane, whose lock guards them.
class OutboundRings {
 public:
  static constexpr std::uint32_t kLongestPacket = 64 * 1024;
  /// In flight to one lane. A ring takes that and the answers to as much.
  static constexpr std::uint32_t kWindow = 256 * 1024;
  /// UC and UD leave so much of a ring free, as RC does not look whether there is room.
  static constexpr std::uint32_t kLeftToRc = kRingBytes / 4;

  /// Of the lane of this number, which has `slot` in `share`, which outlives them.
  OutboundRings(std::uint8_t lane, const DirectShare& share, const DirectShare::LaneSlot& slot);
  ~OutboundRings();
  OutboundRings(const OutboundRings&) = delete;
  OutboundRings& operator=(const OutboundRings&) = delete;

  // ---- to whom

  /// Packets to `peer`'s lane go through its ring from now on, unless it refuses them. `peer`
  /// stays until disconnect().
  void connect(std::uint8_t lane, DirectPeer& peer, UniqueFd doorbell);
  void disconnect(std::uint8_t lane);
  bool connected(std::uint8_t lane) const { return rings_[lane] != nullptr; }
  /// Of a lane that is connected(), else nullptr.
  DirectPeer* peer(std::uint8_t lane) const { return connected(lane) ? &rings_[lane]->peer : nullptr; }
  /// Whether the peer reads the ring from here no more.
  bool is_refused_by(const DirectPeer& peer) const {
    return peer.reception().refuses[lane_].load(std::memory_order_acquire) != 0;
  }
  /// A lane that has read nothing between two looks, perhaps as its process is gone, or as it
  /// refuses what is written; -1: there is none.
  int take_stuck() { return std::exchange(stuck_, -1); }
  /// What UC and UD go by; lives as long as this object.
  ib::Gauge& gauge(std::uint8_t lane);
  /// Packets to these addresses, which are this host's, may go through rings.
  void set_addresses(const std::vector<device::GidEntry>& addresses);

  // ---- what is sent

  /// False: it is to take another way.
  bool send(const ib::TxPacket& packet, TimePoint now);
  /// To a lane that is connected().
  void send(const ib::EagerSend& eager, const ib::AddressVector& path, std::uint32_t token, TimePoint now);
  /// Tells the peer of a queue pair how far that is with its eager sends; its lane is connected().
  void acknowledge(Qpn peer, std::uint32_t token, std::uint32_t psn, std::uint8_t credit);
  /// Wakes whoever sleeps and was sent something.
  void ring_doorbells();
  /// Tells `receiver` of packets that found no room.
  void report(link::Receiver& receiver);

 private:
  /// To a lane.
  struct Ring {
    Ring(DirectPeer& to, UniqueFd its_doorbell)
        : peer(to), writer(to.ring()), doorbell(std::move(its_doorbell)) {}
    DirectPeer& peer;
    RingWriter writer;
    UniqueFd doorbell;
    bool to_wake = false;                    ///< written to since the last ring_doorbells()
    std::uint64_t read = ~std::uint64_t{0};  ///< how far the reader was at the last look
    TimePoint watch_at{};
    std::uint64_t dropped = 0;  ///< for want of room, not reported yet
    Qpn dropped_to;
  };
  class RingGauge;

  Ring* ring_for(const ib::TxPacket& packet);
  bool goes_by_rendezvous(const Ring& ring, const ib::TxPacket& packet) const;
  void note_written(std::uint8_t lane, Ring& ring, TimePoint now);
  void note_dropped(Ring& ring, Qpn qpn, TimePoint now);
  void wake_later(std::uint8_t lane, Ring& ring);
  void watch(std::uint8_t lane, Ring& ring, TimePoint now);

  const std::uint8_t lane_;
  const DirectShare& share_;
  RingReception& reception_;
  std::vector<wire::Gid> addresses_;
  std::array<std::unique_ptr<Ring>, kLaneNumbers> rings_;
  std::array<std::unique_ptr<RingGauge>, kLaneNumbers> gauges_;
  std::vector<std::uint8_t> to_wake_;
  int stuck_ = -1;
  bool any_dropped_ = false;
};

}  // namespace softrnic::samehost
