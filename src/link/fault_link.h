// A link that mistreats the packets it sends, by a plan and a seed.
//
// The same seed and the same sequence of packets give the same faults. Faults are reported as drops
// (injected), once each at the next receive(). Duplicates, late and delayed packets are copies.
#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "link/dice.h"
#include "link/fault_plan.h"
#include "link/link.h"
#include "link/packet_segmenter.h"

namespace softrnic::link {

class FaultLink final : public Link {
 public:
  static constexpr unsigned kReorderDepth = 4;
  /// A packet that is held back leaves after this time when nothing overtakes it.
  static constexpr Duration kReorderTime = std::chrono::microseconds(500);

  FaultLink(std::unique_ptr<Link> inner, const FaultPlan& plan);
  /// Packets that are held back leave now: a network delivers what was sent, even when the sender has gone.
  ~FaultLink() override { flush(TimePoint::max()); }
  FaultLink(const FaultLink&) = delete;
  FaultLink& operator=(const FaultLink&) = delete;

  void set_tap(PacketTap* tap) override { inner_->set_tap(tap); }
  void set_addresses(std::vector<device::GidEntry> addresses) override {
    inner_->set_addresses(std::move(addresses));
  }
  void send(const ib::TxPacket& packet, TimePoint now) override;
  void send_damaged(const ib::TxPacket& packet, std::uint32_t bit, TimePoint now) override;
  void flush(TimePoint now) override;
  bool is_full() const override { return inner_->is_full(); }
  std::size_t receive(Receiver& receiver, TimePoint now) override;
  bool has_packet(TimePoint now) const override { return inner_->has_packet(now); }
  int readable_fd() const override { return inner_->readable_fd(); }
  TimePoint deadline() const override;
  bool join(const wire::Gid& group, std::uint32_t index) override { return inner_->join(group, index); }
  bool leave(const wire::Gid& group, std::uint32_t index) override { return inner_->leave(group, index); }

 private:
  /// A packet that owns its bytes.
  struct Held {
    ib::AddressVector path;
    ib::TxPacket packet;
    std::vector<std::byte> payload;
    TimePoint due;
    unsigned overtakers = 0;  ///< leaves when so many more have been sent; 0: by time only
    bool damaged = false;
    std::uint32_t bit = 0;
  };

  void send_one(const ib::TxPacket& packet, TimePoint now);
  void mistreat(const ib::TxPacket& packet, bool damaged, std::uint32_t bit, TimePoint now);
  void hold(const ib::TxPacket& packet, TimePoint due, unsigned overtakers, bool damaged, std::uint32_t bit);
  void pass(const ib::TxPacket& packet, bool damaged, std::uint32_t bit, TimePoint now);
  void release(std::size_t index, TimePoint now);
  void release_due(TimePoint now);

  std::unique_ptr<Link> inner_;
  FaultPlan plan_;
  PacketSegmenter segmenter_;
  Dice dice_;
  std::deque<std::unique_ptr<Held>> held_;
  std::vector<std::unique_ptr<Held>> leaving_;  ///< given to the inner link, kept until it is flushed
  std::vector<Qpn> dropped_;
};

}  // namespace softrnic::link
