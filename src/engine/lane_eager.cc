// Short messages to and from the other lanes of this host (transport/ib/eager_send.h).
//
// A message in that way needs no clock, no batch, no headers and no ACK packet. A thread that polls
// looks at the rings first and takes what are eager sends; everything else, and now and then a turn for
// all the rest, is a batch.
#include <algorithm>
#include <mutex>
#include <utility>

#include "base/attempt.h"
#include "base/hot_path.h"
#include "engine/lane.h"
#include "rnic/completion_queue.h"

namespace softrnic::engine {
namespace {

/// Polls that take eager sends, and then one that does all there is to do
constexpr std::uint32_t kEagerPolls = 16;
/// A look at the clock costs as much as a message or two; the engine thread needs one every 20 us
/// (PollModeration::kUnpolled).
constexpr std::uint32_t kPollsPerLook = 8;
constexpr std::size_t kMessagesPerLook = 8;

// A program that has no place for more finds the rest in the ring next time. If it lay in its queue instead,
// the peer would be told to go on, and use up the receives that the program posts once it has seen these.
std::size_t room(const rnic::CompletionSink& sink) {
  return std::max<std::ptrdiff_t>(sink.end - sink.next, 1);
}

}  // namespace

// ---- requests

SOFTRNIC_HOT_PATH bool Lane::send_eager(rnic::QueuePair& qp) {
  const ib::PathWindow* const path = qp.window();
  if (rings_ == nullptr || path == nullptr || !path->local() || path->hook().waited_for ||
      !completions_.empty())
    return false;
  const ib::Attributes& attributes = qp.transport_attributes();
  QpSlot* const slot = qps_.find(qp.qpn());
  if (slot == nullptr || !rings_->outbound().connected(attributes.remote.lane())) return false;
  const TimePoint now = soon();
  ib::EagerSend eager;
  bool any = false;
  for (; qp.next_eager(eager); any = true) {
    rings_->outbound().send(eager, attributes.path, slot->token, now);
    qp.eager_sent(now);
  }
  if (!any) return false;
  rings_->outbound().ring_doorbells();
  eager_acks_.await(*slot);
  outdate_row(*slot);
  deadlines_.update(qp);
  if (deadlines_.earliest() < timers_.armed()) arm(Duration::zero());
  return !qp.endpoint().has_unsent();
}

// ---- what comes in

// A program that polls for what it receives is not kept with ACKs of what it has sent: they wait until it
// asks for those completions, or for a batch.
SOFTRNIC_HOT_PATH bool Lane::poll_eager(rnic::CompletionSink& sink, std::uint32_t polls) {
  if (rings_ == nullptr) return false;
  const bool acks = eager_acks_.have_come_for(sink.cq);
  if (!acks && !(rings_->activity().recent() && rings_->inbound().have_packet())) return false;
  if (polls % kEagerPolls == 0) return false;
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return false;
  completions_.open(sink);
  std::size_t taken = acks ? take_acks() : 0;
  attempt([&] { taken += rings_->receive_eagers(*this, room(sink)); });
  acknowledge_eager();
  rings_->outbound().ring_doorbells();
  publish();
  completions_.close();
  if (taken != 0) last_poll_.took_eagers();
  if (taken >= kMessagesPerLook || (taken != 0 && polls % kPollsPerLook == 0))
    last_poll_.looked(monotonic_now());
  return taken != 0 && !scheduler_.has_work();
}

bool Lane::eager(const samehost::RingEagerSend& message, std::uint8_t lane) {
  const ib::EagerSend& eager = message.eager;
  QpSlot* const slot = eager.destination.lane() == number_ ? qps_.find(eager.destination) : nullptr;
  if (slot == nullptr || !rings_->outbound().connected(lane) ||
      slot->qp->transport_attributes().remote.lane() != lane)
    return false;
  if (slot != owed_ack_.slot) acknowledge_eager();
  eager_acks_.take_first(*slot, [this](rnic::QueuePair& qp) { touch(qp); });
  if (!slot->qp->receive_eager(eager, message.route->source)) return false;
  owed_ack_ = {slot, message.token};
  return true;
}

// What was executed since as packets is told as well.
void Lane::acknowledge_eager() {
  if (owed_ack_.slot == nullptr) return;
  QpSlot& slot = *std::exchange(owed_ack_.slot, nullptr);
  rnic::QueuePair& qp = *slot.qp;
  rings_->outbound().acknowledge(qp.transport_attributes().remote, owed_ack_.token, qp.receive_psn(),
                                 qp.endpoint().tell_credit());
  peers_.received(qp);
  outdate_row(slot);
}

std::size_t Lane::take_acks() {
  const std::size_t taken = eager_acks_.take([this](rnic::QueuePair& qp) { touch(qp); });
  if (taken != 0) rings_->activity().note_traffic();
  return taken;
}

// ---- sleep

bool Lane::arm_doorbell() {
  if (rings_ == nullptr) return true;
  if (!rings_->arm_doorbell()) return false;
  const bool any = any_ack_has_come();
  if (any) rings_->disarm_doorbell();
  return !any;
}

bool Lane::recheck_doorbell() {
  return rings_ != nullptr && (rings_->recheck_doorbell() || any_ack_has_come());
}

bool Lane::any_ack_has_come() {
  const std::lock_guard lock(mutex_);
  return eager_acks_.any_has_come();
}

}  // namespace softrnic::engine
