// ACKs that wait for what the program answers, and leave along with it: one packet and one wake-up less at
// both ends. Only where it takes turns with its peer by short WRITEs, which tell nobody but by memory: see
// base/turn_predictor.h. The ACK is shorter than the answer, so that one datagram carries both (UDP_SEGMENT),
// and the peer finds both when it polls for the ACK.
#pragma once

#include "engine/qp_table.h"
#include "transport/ib/rx_packet.h"
#include "transport/ib/types.h"

namespace softrnic::engine {

/// The one of a lane that waits. Not thread-safe: the lane's lock guards it. Where a queue pair is
/// returned, its ACK leaves with its next transmit(), which is to follow.
class DelayedAck {
 public:
  /// The queue pair was handed a packet: its ACK may wait now, and then nobody else's does.
  QpSlot* written(QpSlot& slot, const ib::RxPacket& packet, TimePoint now);
  /// The program has posted to the queue pair.
  QpSlot* posted(QpSlot& slot, TimePoint now);
  /// The answer has not come in time, or is not waited for.
  QpSlot* release();

  bool any() const { return holding_ != nullptr; }
  bool holds(const rnic::QueuePair& qp) const { return holding_ != nullptr && holding_->qp == &qp; }
  /// When release() is to be called, or kNever.
  TimePoint due() const { return due_; }
  /// In a forked child: the ACK is the parent's.
  void abandon() { *this = {}; }

 private:
  QpSlot* holding_ = nullptr;
  TimePoint due_ = kNever;
};

}  // namespace softrnic::engine
