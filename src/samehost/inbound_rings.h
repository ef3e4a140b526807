// The rings that other lanes of this host write to a lane: who writes, whether something has come, and what.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>

#include "base/lane_limits.h"
#include "link/link.h"
#include "samehost/direct_share.h"
#include "samehost/eager_receiver.h"
#include "samehost/outbound_rings.h"
#include "samehost/packet_ring.h"
#include "transport/ib/rx_packet.h"

namespace softrnic::samehost {

/// Those of a lane. The lane's lock guards them, except where it says otherwise.
class InboundRings {
 public:
  /// `share`, where the lane has `slot`, and the others outlive them. `outbound` has the peers through whom
  /// payloads are fetched that stayed with their senders.
  InboundRings(DirectShare& share, const DirectShare::LaneSlot& slot, const OutboundRings& outbound,
               EagerReceiver& eagers)
      : share_(share), slot_(slot), outbound_(outbound), eager_receiver_(eagers) {}
  InboundRings(const InboundRings&) = delete;
  InboundRings& operator=(const InboundRings&) = delete;

  /// Hands over what has come, a fair share of each ring. Returns the number of packets.
  std::size_t receive(link::Receiver& receiver);
  /// Hands over the eager sends that stand before any packet, up to `most` of them. Returns their number.
  std::size_t receive_eagers(link::Receiver& receiver, std::size_t most);
  /// Without the lock: whether something has come.
  bool have_packet() const;
  /// Whether that lane is to send no UC and UD here for now.
  void throttle(std::uint8_t lane, bool throttled) {
    slot_.reception->throttles[lane].store(throttled ? 1 : 0, std::memory_order_relaxed);
  }

 private:
  class Fetch;
  enum class Taken : std::uint8_t { nothing, eager, packet };

  void adopt_new_writers();
  void refuse(std::uint8_t lane, link::Receiver& receiver);
  std::size_t read(std::uint8_t lane, RingReader& ring, link::Receiver& receiver);
  std::size_t read_eagers(std::uint8_t lane, RingReader& ring, link::Receiver& receiver, std::size_t most);
  Taken read_one(std::uint8_t lane, RingReader& ring, link::Receiver& receiver);
  Taken hand_over(RingReader& ring, link::Receiver& receiver);
  bool decode(const RingPacket& from, Fetch& fetch);
  void decode(const RingEagerSend& from);
  void take_route(const RingRoute& route);

  DirectShare& share_;
  const DirectShare::LaneSlot slot_;
  const OutboundRings& outbound_;
  EagerReceiver& eager_receiver_;
  std::array<std::optional<RingReader>, kLaneNumbers> readers_;  ///< by lane; without allocation
  /// Those that are there, for everybody to look at; only added to.
  std::array<std::atomic<RingReader*>, kLaneNumbers> list_{};
  std::array<std::uint8_t, kLaneNumbers> lanes_{};
  std::atomic<std::uint32_t> count_{0};
  std::atomic<std::uint32_t> arrivals_{0};  ///< as many as were looked at
  ib::RxPacket rx_;
};

}  // namespace softrnic::samehost
