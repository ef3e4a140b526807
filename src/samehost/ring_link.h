// Packets to and from the other lanes of this host, through the rings of direct_layout.h; all
// others take the link below.
//
// What comes from a lane of this host needs no system call, no checksum and no fragments of an MTU: a
// packet carries up to kLongestPacket bytes. A long payload of RC stays where it is, and the receiver
// fetches it: one copy, by the side that waits for it. (UC and UD may use their buffers again when the
// packet has left, so theirs go along.)
//
// A lane that sleeps says so in its inbox; whoever writes then rings its doorbell.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/lane_limits.h"
#include "base/unique_fd.h"
#include "link/link.h"
#include "samehost/direct_peer.h"
#include "samehost/eager_receiver.h"
#include "samehost/packet_ring.h"
#include "transport/ib/rx_packet.h"

namespace softrnic::samehost {

class RingLink final : public link::Link {
 public:
  static constexpr std::uint32_t kLongestPacket = 64 * 1024;
  /// In flight to one lane. A ring takes that and the answers to as much.
  static constexpr std::uint32_t kWindow = 256 * 1024;

  /// For the lane of this number, which has `slot` in `share`. `doorbell` is its own.
  /// `share` outlives the link.
  RingLink(std::unique_ptr<link::Link> below, std::uint8_t lane, DirectShare& share,
           const DirectShare::LaneSlot& slot, UniqueFd doorbell, EagerReceiver& eagers);
  ~RingLink() override;
  RingLink(const RingLink&) = delete;
  RingLink& operator=(const RingLink&) = delete;

  // ---- local peers

  /// Packets to `peer`'s lane go through its ring from now on, unless it refuses them. `peer`
  /// stays until disconnect().
  void connect(std::uint8_t lane, DirectPeer& peer, UniqueFd doorbell);
  void disconnect(std::uint8_t lane);
  bool connected(std::uint8_t lane) const { return outbound_[lane] != nullptr; }
  /// A lane that has read nothing between two looks, perhaps as its process is gone, or as it
  /// refuses(); -1: there is none.
  int take_stuck();
  /// Whether the peer reads the ring from here no more.
  bool is_refused_by(const DirectPeer& peer) const {
    return peer.reception().refuses[lane_].load(std::memory_order_acquire) != 0;
  }
  /// Whether that lane is to send no UC and UD here for now.
  void throttle(std::uint8_t lane, bool throttled) {
    slot_.reception->throttles[lane].store(throttled ? 1 : 0, std::memory_order_relaxed);
  }
  /// What UC and UD go by; lives as long as the link.
  ib::Gauge& gauge(std::uint8_t lane);

  // ---- short messages

  /// To a lane that is connected().
  void send(const ib::EagerSend& eager, const ib::AddressVector& path, std::uint32_t token, TimePoint now);
  /// Tells the peer of a queue pair how far that is with its eager sends; its lane is connected().
  void acknowledge(Qpn peer, std::uint32_t token, std::uint32_t psn);
  /// Wakes whoever sleeps and was sent something.
  void ring_doorbells();
  /// Hands over the eager sends that stand before any packet, up to `most` of them. Returns their number.
  std::size_t receive_eagers(link::Receiver& receiver, std::size_t most);

  // ---- sleep, without the lock, by one thread

  /// Senders are to ring from now on. False: packets are there, do not sleep.
  bool arm_doorbell();
  /// After arm_doorbell() was true, when kRecheck has passed: something has come, and nobody will ring.
  bool recheck_doorbell() const { return rings_have_packet(); }
  /// Who writes looks whether the reader sleeps by a plain load, which the processor may do before others see
  /// what it wrote: a barrier would cost each message as much as a tenth of its way. So he who sleeps looks
  /// again once that is over for certain.
  static constexpr Duration kRecheck = std::chrono::milliseconds(1);
  /// After arm_doorbell() was true.
  void disarm_doorbell();
  int doorbell_fd() const { return doorbell_.get(); }

  // ---- a quick look, without the lock

  /// Something came through memory, by a ring or without.
  void note_traffic() { activity_.note_traffic(); }
  /// The program moves messages without packets: the next look at the socket need not come at once.
  void note_direct_traffic() { activity_.note_direct_traffic(); }
  /// Whether something has lately.
  bool active() const { return activity_.recent(); }
  bool rings_have_packet() const;
  /// The next receive() reads the link below as well, which is else done only now and then while rings are in
  /// use.
  void poll_below_next() { activity_.poll_below_next(); }

  // ---- link::Link
  void set_tap(link::PacketTap* tap) override { below_->set_tap(tap); }
  void send(const ib::TxPacket& packet, TimePoint now) override;
  void send_damaged(const ib::TxPacket& packet, std::uint32_t bit, TimePoint now) override {
    below_->send_damaged(packet, bit, now);
  }
  void flush(TimePoint now) override;
  std::size_t receive(link::Receiver& receiver, TimePoint now) override;
  bool has_packet(TimePoint now) const override;
  int readable_fd() const override { return below_->readable_fd(); }
  TimePoint deadline() const override { return below_->deadline(); }
  void set_addresses(std::vector<device::GidEntry> addresses) override;
  bool join(const wire::Gid& group, std::uint32_t interface_index) override {
    return below_->join(group, interface_index);
  }
  bool leave(const wire::Gid& group, std::uint32_t interface_index) override {
    return below_->leave(group, interface_index);
  }

 private:
  /// To a lane.
  struct OutboundRing {
    OutboundRing(DirectPeer& to, UniqueFd its_doorbell)
        : peer(to), ring(to.ring()), doorbell(std::move(its_doorbell)) {}
    DirectPeer& peer;
    RingWriter ring;
    UniqueFd doorbell;
    bool to_wake = false;                    ///< written to since the last flush()
    std::uint64_t read = ~std::uint64_t{0};  ///< how far the reader was at the last look
    TimePoint watch_at{};
    std::uint64_t dropped = 0;  ///< for want of room, not reported yet
    Qpn dropped_to;
  };
  class RingGauge;
  class Fetch;
  /// Whether something came through memory lately, and when the link below is to be looked at. Thread-safe:
  /// each figure stands alone, and one that is lost costs a look.
  class Activity {
   public:
    void note_traffic() {
      if (!traffic_.load(std::memory_order_relaxed)) traffic_.store(true, std::memory_order_relaxed);
    }
    void note_direct_traffic() { direct_traffic_.store(true, std::memory_order_relaxed); }
    bool recent() const { return active_.load(std::memory_order_relaxed); }
    void poll_below_next() { poll_below_ns_.store(0, std::memory_order_relaxed); }
    /// A ring had packets at `ns`.
    void had_packets(std::int64_t ns) {
      active_ns_.store(ns, std::memory_order_relaxed);
      active_.store(true, std::memory_order_relaxed);
    }
    bool below_is_due(std::int64_t ns) const { return ns >= poll_below_ns_.load(std::memory_order_relaxed); }
    void poll_below_at(std::int64_t ns) { poll_below_ns_.store(ns, std::memory_order_relaxed); }
    /// Somebody polls at `ns`, and the rings are empty. False: nothing moves through memory, and the link
    /// below is looked at as if there were no rings.
    bool polled(std::int64_t ns);

   private:
    std::atomic<bool> active_{false};          ///< a ring had packets lately
    std::atomic<std::int64_t> active_ns_{0};   ///< when
    std::atomic<bool> traffic_{false};         ///< of a local peer, and active_ns_ does not say so yet
    std::atomic<bool> direct_traffic_{false};  ///< since the last look
    std::atomic<std::int64_t> poll_below_ns_{0};
  };

  OutboundRing* outbound_to(const ib::TxPacket& packet);
  bool goes_by_rendezvous(const OutboundRing& out, const ib::TxPacket& packet) const;
  void watch(std::uint8_t lane, OutboundRing& out, TimePoint now);
  void report(link::Receiver& receiver);
  void adopt_new_writers();
  void refuse(std::uint8_t lane, link::Receiver& receiver);
  enum class Taken : std::uint8_t { nothing, eager, packet };
  std::size_t read(std::uint8_t lane, RingReader& ring, link::Receiver& receiver);
  std::size_t read_eagers(std::uint8_t lane, RingReader& ring, link::Receiver& receiver, std::size_t most);
  Taken read_one(std::uint8_t lane, RingReader& ring, link::Receiver& receiver);
  Taken hand_over(RingReader& ring, link::Receiver& receiver);
  bool decode(const RingPacket& from, Fetch& fetch);
  void decode(const RingEagerSend& from);
  void take_route(const RingRoute& route);
  void note_written(std::uint8_t lane, OutboundRing& out, TimePoint now);
  void note_dropped(OutboundRing& out, Qpn qpn, TimePoint now);
  void wake_later(std::uint8_t lane, OutboundRing& out);

  std::unique_ptr<link::Link> below_;
  const std::uint8_t lane_;
  DirectShare& share_;
  const DirectShare::LaneSlot slot_;
  UniqueFd doorbell_;
  EagerReceiver& eager_receiver_;
  std::vector<wire::Gid> addresses_;

  std::array<std::unique_ptr<OutboundRing>, kLaneNumbers> outbound_;
  std::array<std::unique_ptr<RingGauge>, kLaneNumbers> gauges_;
  std::vector<std::uint8_t> to_wake_;
  int stuck_ = -1;
  bool any_dropped_ = false;

  std::array<std::optional<RingReader>, kLaneNumbers> readers_;  ///< by lane; without allocation
  /// Those that are there, for everybody to look at; only added to.
  std::array<std::atomic<RingReader*>, kLaneNumbers> reader_list_{};
  std::array<std::uint8_t, kLaneNumbers> reader_lanes_{};
  std::atomic<std::uint32_t> reader_count_{0};
  std::atomic<std::uint32_t> arrivals_{0};  ///< as many as were looked at
  /// Of has_packet(), which looks at the socket the less the more comes through memory. Changed by whoever
  /// looks, at any time and without the lock: that is what it is for.
  mutable Activity activity_;
  std::uint64_t rings_due_ = 0;  ///< of the doorbell, and not taken from it yet
  ib::RxPacket rx_;
};

}  // namespace softrnic::samehost
