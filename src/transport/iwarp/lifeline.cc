#include "transport/iwarp/lifeline.h"

#include <algorithm>

#include "base/reason_id.h"

namespace softrnic::iwarp {

// ---- in and out

void Lifeline::receive(Bytes bytes, TimePoint now) {
  if (peer_ready_ || bytes.empty()) return;
  peer_ready_ = true;
  if (closing_ && !shut_down_) wait_for_end(now);
}

std::size_t Lifeline::gather(std::span<Bytes> out, TimePoint) {
  if (!byte_due_ || ended() || shut_down_ || out.empty()) return 0;
  out[0] = byte_;
  return 1;
}

void Lifeline::sent(std::size_t count, TimePoint) { byte_due_ = byte_due_ && count == 0; }

// ---- the end

void Lifeline::wait_for_end(TimePoint now) {
  progress_ = messages_.progress();
  deadline_ = now + kCloseTimeout;
}

// What waits for a peer that is not ready does so as long as the peer's program likes. What a program posts
// behind the peer's end does not put off this one, and is flushed.
void Lifeline::close(TimePoint now) {
  if (closing_ || ended()) return;
  closing_ = true;
  last_ = messages_.posted();
  if (peer_ready_) wait_for_end(now);
}

// The word that this side is ready goes before its end.
StreamWish Lifeline::wish() const {
  if (ended()) return StreamWish::close;
  return closing_ && !shut_down_ && !byte_due_ && done() ? StreamWish::shut_down : StreamWish::none;
}

void Lifeline::shut_down_done(TimePoint now) {
  shut_down_ = true;
  probe_at_ = kNever;
  if (peer_shut_down_) return finish(Ending::closed);
  wait_for_end(now);
}

// A peer that has ended its side may still answer, or its program may have gone: a closed socket of TCP
// answers what is written to it with a reset.
void Lifeline::stream_ended(StreamEnd end, TimePoint now) {
  if (ended()) return;
  if (end == StreamEnd::broken) {
    if (shut_down_ || (peer_shut_down_ && done())) return finish(Ending::closed);
    return lose(because(ReasonId::iwarp_stream_lost, messages_.outstanding()));
  }
  peer_shut_down_ = true;
  if (shut_down_) return finish(Ending::closed);
  close(now);
  if (!done()) probe_at_ = now + kProbeInterval;
}

void Lifeline::give_up() {
  if (!ended()) finish(Ending::aborted);
}

void Lifeline::lose(const Reason& reason) {
  host_.explain(reason, nullptr);
  finish(Ending::lost);
}

void Lifeline::finish(Ending ending) {
  ending_ = ending;
  deadline_ = probe_at_ = kNever;
  byte_due_ = false;
}

void Lifeline::expire(TimePoint now) {
  if (ended()) return;
  if (now >= probe_at_) {
    byte_due_ = !done();
    probe_at_ = byte_due_ ? now + kProbeInterval : kNever;
  }
  if (now < deadline_) return;
  if (shut_down_) return finish(Ending::closed);
  if (messages_.progress() != progress_) return wait_for_end(now);
  lose(because(ReasonId::iwarp_close_stuck, messages_.outstanding()));
}

}  // namespace softrnic::iwarp
