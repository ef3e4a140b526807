// How a connection comes to its end: in good order, by a Terminate message of either side, or by a broken
// stream (RFC 5040 7).
#include "base/reason_id.h"
#include "transport/iwarp/endpoint.h"

namespace softrnic::iwarp {

void Endpoint::close(TimePoint now) {
  if (phase_ == Phase::running) begin_close(now);
}

// A peer that neither reads nor answers would else keep what is posted for ever.
void Endpoint::begin_close(TimePoint now) {
  phase_ = Phase::closing;
  complete_delayed();
  advanced(now);
}

// Of this side's requests, which the peer cannot ask for.
void Endpoint::advanced(TimePoint now) {
  close_limit_ = now + kMostCloseTimeouts * context_.attributes.close_timeout;
  moved(now);
}

// Answers, either way: of those a peer could keep a few under way for ever.
void Endpoint::moved(TimePoint now) {
  if (phase_ != Phase::closing || shut_down_) return;
  deadline_ = std::min(now + context_.attributes.close_timeout, close_limit_);
}

void Endpoint::flush() {
  if (phase_ == Phase::terminating || phase_ == Phase::ended) return;
  finish(Ending::aborted);
}

void Endpoint::reset() {
  requester_.reset();
  requests_.reset();
  inbound_.reset();
  receiver_.reset();
  sender_.reset();
  held_ = {};
  phase_ = Phase::idle;
  ending_ = Ending::none;
  deadline_ = kNever;
  speaks_at_ = looks_at_ = kNever;
  silent_ = spoke_ = false;
  ready_due_ = terminate_due_ = terminate_sent_ = shut_down_ = peer_shut_down_ = false;
  answers_next_ = true;
}

// RFC 5040 7.1, 7.2: who finds an error says so, lets what he has begun come to the end of its FPDU, and
// takes nothing any more.
void Endpoint::refuse(const Verdict& verdict, Bytes segment, std::size_t segment_bytes, TimePoint now) {
  sender_->detach();
  blame(verdict);
  send_terminate(wire::terminate_about(terminate_error(verdict), segment, segment_bytes), now);
}

void Endpoint::blame(const Verdict& verdict) {
  const FaultRule& rule = fault_rule(verdict.fault);
  ib::Host& host = context_.host;
  host.explain(verdict.reason, nullptr);
  if (verdict.fault == Fault::tagged) host.ended(ib::Counted::remote_write, false, 0);
  if (verdict.fault == Fault::request) host.ended(ib::Counted::remote_read, false, 0);
  const bool receive = rule.receive_status != ib::Status::flushed;
  inbound_.receives().fail_receive(rule.receive_status,
                                   receive ? verdict.reason : because(ReasonId::flushed));
  if (rule.answer_status == ib::Status::flushed) {
    requester_.flush();
  } else {
    requester_.fail_awaited({rule.answer_status, verdict.reason});
  }
  if (rule.has_event) host.event(rule.event);
}

// A work request that cannot be carried out (RFC 5040 7: local catastrophic error).
void Endpoint::fail_request(TimePoint now) {
  const Requester::Failure failure = *requester_.failed();
  sender_->detach();
  requester_.fail(failure);
  inbound_.receives().fail_receive(ib::Status::flushed, because(ReasonId::flushed));
  send_terminate(wire::terminate_about(wire::TerminateError::rdmap_catastrophic, {}, 0), now);
}

void Endpoint::send_terminate(const wire::Terminate& message, TimePoint now) {
  terminate_ = message;
  terminate_due_ = true;
  phase_ = Phase::terminating;
  ending_ = Ending::refused;
  deadline_ = now + context_.attributes.close_timeout;
}

void Endpoint::peer_terminated(const wire::Terminate& message) {
  ib::Host& host = context_.host;
  host.explain(because(ReasonId::iwarp_terminated, message.error), nullptr);
  inbound_.receives().fail_receive(ib::Status::flushed, because(ReasonId::flushed));
  const bool about_request = message.ddp && !message.ddp->tagged &&
                             message.ddp->queue == static_cast<std::uint32_t>(wire::DdpQueue::request);
  const bool blamed = about_request && requester_.blame(message);
  if (!about_request) requester_.flush();
  if (!blamed) host.event(event_of(message.error));
  finish(Ending::terminated);
}

bool Endpoint::nothing_to_send() const {
  return requester_.outstanding() == 0 && requests_.empty() && sender_->idle() && !ready_due_;
}

bool Endpoint::drained() const {
  return phase_ == Phase::ended || (phase_ == Phase::closing && nothing_to_send());
}

const char* Endpoint::broken_invariant() const {
  const bool streams = phase_ != Phase::idle;
  if (streams != (sender_ != nullptr) || streams != (receiver_ != nullptr))
    return "a stream that has begun, or has not, is not told so";
  if (in_error() && requester_.outstanding() != 0) return "work requests outlive their connection";
  if ((phase_ == Phase::ended) != (ending_ != Ending::none) && phase_ != Phase::terminating)
    return "a connection that has ended does not know how";
  return nullptr;
}

StreamWish Endpoint::wish() const {
  if (phase_ == Phase::ended) return StreamWish::close;
  if (shut_down_) return StreamWish::none;
  if (phase_ == Phase::closing && nothing_to_send() && may_speak()) return StreamWish::shut_down;
  if (phase_ == Phase::terminating && terminate_sent_) return StreamWish::shut_down;
  return StreamWish::none;
}

void Endpoint::shut_down_done(TimePoint now) {
  shut_down_ = true;
  if (peer_shut_down_) return finish(phase_ == Phase::terminating ? Ending::refused : Ending::closed);
  deadline_ = now + context_.attributes.close_timeout;
}

void Endpoint::stream_ended(StreamEnd end, TimePoint now) {
  if (phase_ == Phase::idle || phase_ == Phase::ended) return;
  end_patience(now);
  if (phase_ == Phase::terminating) {
    peer_shut_down_ = true;
    if (end == StreamEnd::broken || shut_down_) finish(Ending::refused);
    return;
  }
  if (end == StreamEnd::closed) return peer_closed(now);
  if (shut_down_ && receiver_->between_fpdus()) return finish(Ending::closed);
  if (spoke_first()) return finish(Ending::lost);  // whose stream has told of it
  lose(because(ReasonId::iwarp_stream_lost, requester_.outstanding()));
}

// The peer sends nothing more, but may still take something: what needs no answer is sent to its end, as
// if this side had been told to close (RFC 5040 7.3, RFC 5044 7.2).
void Endpoint::peer_closed(TimePoint now) {
  if (!receiver_->between_fpdus() || inbound_.in_message()) return lose(because(ReasonId::iwarp_cut_short));
  if (const std::uint32_t count = requester_.unanswered(); count > 0)
    return lose(because(ReasonId::iwarp_unanswered, count));
  peer_shut_down_ = true;
  silent_ = false;  // there will be no first word
  if (shut_down_) return finish(Ending::closed);
  if (phase_ != Phase::closing) begin_close(now);
}

void Endpoint::lose(const Reason& reason) {
  context_.host.explain(reason, nullptr);
  finish(Ending::lost);
}

// What was posted behind close() is never sent, and ends here.
void Endpoint::finish(Ending ending) {
  inbound_.receives().fail_receive(ib::Status::flushed, because(ReasonId::flushed));
  requester_.flush();
  phase_ = Phase::ended;
  held_ = {};
  ending_ = ending;
  deadline_ = kNever;
}

TimePoint Endpoint::deadline() const {
  TimePoint due = waits() ? std::min(deadline_, patience_end_) : deadline_;
  if (hesitates() && would_speak()) due = std::min(due, looks_at_);
  return due;
}

void Endpoint::expire(TimePoint now) {
  try_again(now);
  if (now >= delayed_until()) complete_delayed();
  if (now >= looks_at_) looks_at_ = now + kReplyLooks;
  if (now < deadline_) return;
  if (phase_ == Phase::closing && !may_speak() && nothing_to_send()) {  // nobody is to be waited for
    silent_ = false;
    return moved(now);
  }
  if (phase_ == Phase::closing && !shut_down_)
    return lose(because(ReasonId::iwarp_close_stuck, requester_.outstanding()));
  finish(phase_ == Phase::terminating ? Ending::refused : Ending::closed);
}

}  // namespace softrnic::iwarp
