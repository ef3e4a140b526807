// What a lane adds to messages that go without packets (direct_path.h).
#include "base/attempt.h"
#include "base/clock.h"
#include "base/hot_path.h"
#include "base/poll_backoff.h"
#include "engine/lane.h"

namespace softrnic::engine {
namespace {

/// The engine thread has to hear of a program's posts every 20 us (PollModeration::kUnpolled), and a look at
/// the clock takes a fifth of a short message's time: so there is one for so many short messages, fewer long
/// ones, or one system call.
constexpr std::uint32_t kOneClockRead = 16;
constexpr std::uint32_t kShortMessage = 8192;

std::uint32_t share_of_clock_read(rnic::DirectResult result, std::uint32_t bytes) {
  return result == rnic::DirectResult::attach ? kOneClockRead : 1 + bytes / kShortMessage;
}

}  // namespace

bool Lane::may_go_direct(const rnic::QueuePair& qp) {
  return direct_state(qp) == control::PathChoice::direct;
}

control::PathChoice Lane::direct_state(const rnic::QueuePair& qp) const {
  const ib::PathWindow* const path = qp.window();
  if (path == nullptr) return qp.is_iwarp() ? control::PathChoice::stream : control::PathChoice::other_host;
  if (!path->local() || qp.type() == IBV_QPT_UD) return control::PathChoice::other_host;
  const control::PathChoice state = peers_.state(qp.transport_attributes().remote.lane());
  return state == control::PathChoice::direct && qp.by_packets() ? control::PathChoice::by_program : state;
}

rnic::DirectResult Lane::direct(const rnic::DirectStep& step) {
  QpSlot* const slot = qps_.find(step.qp.qpn());
  if (slot == nullptr) return rnic::DirectResult::none;
  const rnic::DirectResult result = peers_.perform(step, slot->route);
  if (result == rnic::DirectResult::none) return result;
  direct_since_clock_ += share_of_clock_read(result, step.bytes);
  outdate_row(*slot);
  return result;
}

bool Lane::direct_empty(const rnic::DirectStep& step) {
  QpSlot* const slot = qps_.find(step.qp.qpn());
  if (slot == nullptr || !peers_.take_empty(step)) return false;
  direct_since_clock_ += share_of_clock_read(rnic::DirectResult::mapped, 0);
  outdate_row(*slot);
  return true;
}

// Nothing is owed to anybody, so no batch is needed.
void Lane::completed_direct(rnic::QueuePair& qp) {
  publish();
  if (direct_since_clock_ >= kOneClockRead && rings_ != nullptr) {
    direct_since_clock_ = 0;
    last_poll_.called(monotonic_now());
    rings_->activity().note_traffic();
  }
  if (delayed_ack_.any() || scheduler_.has_work() || peers_.any_map_requests()) transmit(qp);
}

// ---- windows that were changed

// Nobody is in the middle of what he looked up before.
bool Lane::lets_go() {
  if (at_rest_.load(std::memory_order_seq_cst)) return true;
  const std::unique_lock lock(mutex_, std::try_to_lock);
  return lock.owns_lock();
}

SOFTRNIC_OUT_OF_LINE void Lane::wait_for_accessors() {
  peers_.wait_for_accessors();
  if (siblings_.empty()) return;
  attempt([&] { link_->flush(clock_.batch_time()); });
  rest(true);  // what was queued has left; two that wait for each other would do so for ever
  for (Lane* sibling : siblings_) {
    PollBackoff backoff;
    while (!sibling->lets_go()) take_rest(backoff.in_vain(1));
  }
  rest(false);
}

}  // namespace softrnic::engine
