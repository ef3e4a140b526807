// What a lane does with packets: to whom those that come go, and how those leave that are to be sent.
#include "base/attempt.h"
#include "base/lane_limits.h"
#include "base/reason_id.h"
#include "engine/lane.h"
#include "transport/ib/rx_packet.h"

namespace softrnic::engine {
namespace {

constexpr std::size_t kSendRound = 256;  ///< packets sent before the lane reads again

}  // namespace

// ---- in

std::size_t Lane::receive_packets() {
  const TimePoint now = clock_.batch_time();
  if (!packet_looks_.due(now)) return 0;
  std::size_t packets = 0;
  // What the link has read already is behind the packet that was lost, and neither
  // has_packet() nor the socket tells.
  unread_ = !attempt([&] { packets = link_->receive(*this, now); });
  if (unread_) return 1;
  packet_looks_.looked(now);
  return packets;
}

bool Lane::packet_has_come(TimePoint now) {
  if (!packet_looks_.due(now)) return false;
  if (link_->has_packet(now)) return true;
  packet_looks_.looked(now);
  return false;
}

void Lane::await_packets() {
  const std::size_t by_streams = streams_.carrying_messages();
  packet_looks_.set_awaited(by_streams == 0 || by_streams != qps_.size() + work_queues_);
}

void Lane::packet(const ib::RxPacket& packet) {
  const Qpn qpn = packet.packet.headers.bth.destination;
  const auto opcode = static_cast<std::uint64_t>(packet.packet.headers.bth.opcode);
  if (qpn.value == Qpn::kMulticast) {
    const Qpn source = packet.packet.headers.deth.source;
    const std::size_t members = groups_.for_each(packet.destination, [&](rnic::QueuePair& qp) {
      // A queue pair without receives that hears itself has lost nothing.
      if (source == qp.qpn() && addresses_.has(packet.source) && qp.spurns_own(packet)) return;
      qp.receive(packet, clock_.batch_time());
      touch(qp);
    });
    if (members == 0)
      dropped(because(ReasonId::drop_no_multicast_member), ib::Counter::drop_unknown_qp, qpn, 1);
    return;
  }
  if (qpn.lane() != number_) {
    dropped(because(ReasonId::drop_wrong_lane, qpn.value, number_), ib::Counter::drop_unknown_qp, qpn, 1);
    return;
  }
  if (qpn.index() == Qpn::kLaneIndex) {
    const bool answers = !hold_.throttles(packet.source, packet.packet.headers.deth.source.lane());
    if (credit_.receive(packet, paths_, clock_.batch_time(), answers)) return;
  }
  QpSlot* slot = qps_.find(qpn);
  if (slot == nullptr) {
    dropped(because(ReasonId::drop_unknown_qpn, qpn.value, opcode, packet.source.high_half(),
                    packet.source.low_half()),
            ib::Counter::drop_unknown_qp, qpn, 1);
    return;
  }
  if (hold_.is_expected(*slot, packet, clock_.batch_time())) {
    hand_over(*slot, packet);
  } else if (const auto kept = hold_.keep(*slot, packet); !kept) {
    dropped(kept.error(), ib::Counter::drop_no_receive, qpn, packet.packets);
  }
}

void Lane::hand_over(QpSlot& slot, const ib::RxPacket& packet) {
  eager_acks_.take_first(slot, [this](rnic::QueuePair& qp) { touch(qp); });
  slot.qp->receive(packet, clock_.batch_time());
  peers_.received(*slot.qp);
  touch(delayed_ack_.written(slot, packet, clock_.batch_time()));
  touch(*slot.qp);
}

void Lane::look_after_held() {
  hold_.look_again(clock_.batch_time(),
                   [this](QpSlot& slot, const ib::RxPacket& packet) { hand_over(slot, packet); });
  if (rings_ == nullptr) return;
  for (std::size_t lane = 0; lane < kLaneNumbers; ++lane)
    rings_->inbound().throttle(static_cast<std::uint8_t>(lane),
                               hold_.throttles(static_cast<std::uint8_t>(lane)));
}

void Lane::dropped(const Reason& reason, ib::Counter counter, Qpn qpn, std::uint64_t packets) {
  rows_.count(counter, packets);
  Explanation explanation;
  explanation.reason = reason;
  if (reason.id == ReasonId::drop_lane_overflow) explanation.reason.figures[1] = number_;
  const bool outgoing = counter == ib::Counter::send_errors || counter == ib::Counter::drop_injected;
  if (outgoing) {
    explanation.peer_qpn = qpn.value;
  } else if (qpn.lane() == number_ && qps_.find(qpn) != nullptr) {
    explanation.qpn = qpn.value;
  }
  explain(explanation);
}

// ---- out

bool Lane::send() {
  if (link_->is_full()) {
    attempt([&] { link_->flush(clock_.batch_time()); });
    if (link_->is_full()) return false;
  }
  const auto out = [this](const ib::TxPacket& packet) {
    if (packet.is_frame) return ports_.send(packet);
    attempt([&] { link_->send(packet, clock_.batch_time()); });
  };
  const auto after = [this](rnic::QueuePair& qp) {
    deadlines_.update(qp);
    outdate_row(qp);
  };
  const std::size_t sent =
      scheduler_.run(clock_.batch_time(), kSendRound, out, after, [this] { return link_->is_full(); });
  if (credit_.any()) {
    // A question vouches for all that was sent before it, which may leave by other sockets.
    attempt([&] { link_->flush(clock_.batch_time()); });
    if (!link_->is_full()) attempt([&] { credit_.send(out); });
  }
  attempt([&] { link_->flush(clock_.batch_time()); });
  flush_frames();
  peers_.look_after_stuck();
  return sent >= kSendRound;
}

void Lane::expire() {
  while (rnic::QueuePair* qp = deadlines_.pop_due(clock_.batch_time())) {
    const std::uint64_t timeouts = qp->counters()[ib::Counter::timeouts];
    qp->expire(clock_.batch_time());
    if (qp->counters()[ib::Counter::timeouts] != timeouts) kernel_drops_.timed_out(clock_.batch_time());
    touch(*qp);
  }
}

}  // namespace softrnic::engine
