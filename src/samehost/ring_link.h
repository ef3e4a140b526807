// Packets to and from the other lanes of this host, through the rings of direct_layout.h; all
// others take the link below.
//
// What comes from a lane of this host needs no system call, no checksum and no fragments of an MTU: a
// packet carries up to OutboundRings::kLongestPacket bytes. A long payload of RC stays where it is, and the
// receiver fetches it: one copy, by the side that waits for it. (UC and UD may use their buffers again when
// the packet has left, so theirs go along.)
//
// A lane that sleeps says so in its inbox; whoever writes then rings its doorbell.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/unique_fd.h"
#include "link/link.h"
#include "samehost/direct_share.h"
#include "samehost/eager_receiver.h"
#include "samehost/inbound_rings.h"
#include "samehost/outbound_rings.h"
#include "samehost/ring_activity.h"

namespace softrnic::samehost {

class RingLink final : public link::Link {
 public:
  /// For the lane of this number, which has `slot` in `share`. `doorbell` is its own.
  /// `share` outlives the link.
  RingLink(std::unique_ptr<link::Link> below, std::uint8_t lane, DirectShare& share,
           const DirectShare::LaneSlot& slot, UniqueFd doorbell, EagerReceiver& eagers)
      : below_(std::move(below)),
        inbox_(*slot.inbox),
        doorbell_(std::move(doorbell)),
        outbound_(lane, share, slot),
        inbound_(share, slot, outbound_, eagers) {}
  RingLink(const RingLink&) = delete;
  RingLink& operator=(const RingLink&) = delete;

  /// Short messages take these without the link.
  OutboundRings& outbound() { return outbound_; }
  InboundRings& inbound() { return inbound_; }
  /// The more comes through memory, the less the link below is looked at.
  RingActivity& activity() { return activity_; }

  /// InboundRings::receive_eagers(), which is traffic.
  std::size_t receive_eagers(link::Receiver& receiver, std::size_t most);

  // ---- sleep, without the lock, by one thread

  /// Senders are to ring from now on. False: packets are there, do not sleep.
  bool arm_doorbell();
  /// After arm_doorbell() was true, when kRecheck has passed: something has come, and nobody will ring.
  bool recheck_doorbell() const { return inbound_.have_packet(); }
  /// Who writes looks whether the reader sleeps by a plain load, which the processor may do before others see
  /// what it wrote: a barrier would cost each message as much as a tenth of its way. So he who sleeps looks
  /// again once that is over for certain.
  static constexpr Duration kRecheck = std::chrono::milliseconds(1);
  /// After arm_doorbell() was true.
  void disarm_doorbell();
  int doorbell_fd() const { return doorbell_.get(); }

  // ---- link::Link
  void set_tap(link::PacketTap* tap) override { below_->set_tap(tap); }
  void send(const ib::TxPacket& packet, TimePoint now) override {
    if (!outbound_.send(packet, now)) below_->send(packet, now);
  }
  void send_damaged(const ib::TxPacket& packet, std::uint32_t bit, TimePoint now) override {
    below_->send_damaged(packet, bit, now);
  }
  void flush(TimePoint now) override {
    outbound_.ring_doorbells();
    below_->flush(now);
  }
  bool is_full() const override { return below_->is_full(); }
  std::size_t receive(link::Receiver& receiver, TimePoint now) override;
  bool has_packet(TimePoint now) const override;
  int readable_fd() const override { return below_->readable_fd(); }
  TimePoint deadline() const override { return below_->deadline(); }
  void set_addresses(std::vector<device::GidEntry> addresses) override {
    outbound_.set_addresses(addresses);
    below_->set_addresses(std::move(addresses));
  }
  bool join(const wire::Gid& group, std::uint32_t interface_index) override {
    return below_->join(group, interface_index);
  }
  bool leave(const wire::Gid& group, std::uint32_t interface_index) override {
    return below_->leave(group, interface_index);
  }

 private:
  std::unique_ptr<link::Link> below_;
  RingInbox& inbox_;
  UniqueFd doorbell_;
  OutboundRings outbound_;
  InboundRings inbound_;
  /// Changed by whoever looks, at any time and without the lock: that is what it is for.
  mutable RingActivity activity_;
  std::uint64_t rings_due_ = 0;  ///< of the doorbell, and not taken from it yet
};

}  // namespace softrnic::samehost
