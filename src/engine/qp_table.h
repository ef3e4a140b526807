// The queue pairs of a lane by number.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>

#include "base/strong.h"
#include "base/time.h"
#include "base/turn_predictor.h"
#include "engine/qpn_order.h"
#include "engine/unexpected_packets.h"
#include "samehost/direct_route.h"

namespace softrnic::rnic {
class QueuePair;
}

namespace softrnic::engine {

/// A place for one queue pair.
struct QpSlot : UnexpectedQueue {
  rnic::QueuePair* qp = nullptr;
  std::uint32_t row = 0;        ///< of the control page plus one; 0: none
  bool dirty = false;           ///< its row is out of date
  bool awaits_acks = false;     ///< of eager sends
  std::uint32_t token = 0;      ///< of its eager sends, see EagerAck
  std::uint64_t ack_seen = 0;   ///< what its EagerAck said
  TurnPredictor turns;          ///< of its program and its peer, see delayed_ack.h
  samehost::DirectRoute route;  ///< of its messages without packets
};

/// 65,536 places, made in groups as they are needed. Each number has its turn, so that one that was given up
/// stays unused for as long as possible: packets that are still under way must not hit its successor. In
/// which order is a secret, so that who has learned one number cannot send to the others.
class QpTable {
 public:
  QpTable(std::uint8_t lane, std::uint16_t first_turn, const QpnOrder& order)
      : lane_(lane), next_turn_(first_turn), order_(order) {}

  /// A free number, now taken by `qp`; nothing when all are in use.
  std::optional<Qpn> insert(rnic::QueuePair& qp);
  void erase(Qpn qpn);

  /// The place of a number of this lane; nullptr when nobody is there.
  QpSlot* find(Qpn qpn) {
    Group* group = groups_[qpn.index() / kGroup].get();
    if (group == nullptr) return nullptr;
    QpSlot& slot = (*group)[qpn.index() % kGroup];
    return slot.qp == nullptr ? nullptr : &slot;
  }
  std::size_t size() const { return size_; }

  template <typename F>
  void for_each(F&& f) {
    for (auto& group : groups_) {
      if (group == nullptr) continue;
      for (QpSlot& slot : *group) {
        if (slot.qp != nullptr) f(slot);
      }
    }
  }

 private:
  static constexpr std::size_t kNumbers = 65536;
  static constexpr std::size_t kGroup = 16;
  using Group = std::array<QpSlot, kGroup>;

  bool reserved(std::uint16_t index) const;

  std::uint8_t lane_;
  std::uint16_t next_turn_;
  QpnOrder order_;
  std::size_t size_ = 0;
  std::array<std::unique_ptr<Group>, kNumbers / kGroup> groups_;
};

}  // namespace softrnic::engine
