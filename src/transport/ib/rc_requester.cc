// The RC requester as a whole: how it starts, drains and ends, and what always holds of it.
#include "transport/ib/rc_requester.h"

#include "transport/ib/outbound.h"

namespace softrnic::ib {

void RcRequester::start() {
  sequence_.start(context_.attributes.send_psn);
  credit_ = {};
  recovery_.start(context_.attributes);
}

void RcRequester::reset() {
  uncharge();
  sequence_.reset();
  ack_requests_.requested();
  direct_.reset();
  credit_ = {};
  recovery_.reset();
  run_ = Run::running;
}

void RcRequester::flush() {
  uncharge();
  recovery_.stop();
  credit_.stop();
  direct_.reset();
  flush_all(context_.host, queue());
  sequence_.flushed();
  run_ = Run::failed;
}

void RcRequester::drain() {
  if (failed()) return;
  run_ = Run::draining;
  check_drained();
}

void RcRequester::resume() {
  if (!failed()) run_ = Run::running;
}

void RcRequester::check_drained() {
  if (run_ != Run::draining || sequence_.any_begun() || direct_.under_way()) return;
  run_ = Run::drained;
  context_.host.event(QpEvent::send_queue_drained);
}

// What each part promises by itself, then what they promise of each other.
const char* RcRequester::broken_invariant() const {
  if (const char* broken = sequence_.broken_invariant(!failed())) return broken;
  if (const char* broken = broken_charge()) return broken;
  if (failed()) return nullptr;
  if (direct_.under_way() && (sequence_.any_begun() || queue().empty())) return "a message goes both ways";
  if (run_ == Run::drained && sequence_.any_begun()) return "drained with a work request that has begun";
  return recovery_.broken_invariant(sequence_.una(), sequence_.next(), sequence_.top());
}

// What is charged was sent, and the window knows of it.
const char* RcRequester::broken_charge() const {
  if (!sequence_.in_flight() && reads_out_ != 0) return "READs or atomics are out and nothing is in flight";
  if (reads_out_ > context_.attributes.max_reads_out) return "more READs and atomics are out than agreed";
  if (charge_.bytes() == 0) return nullptr;
  std::uint64_t cost = 0;
  sequence_.for_each_in_flight(
      [&](const SendEntry& entry, Psn from, Psn stop) { cost += cost_of(entry, from, stop, mtu()); });
  return charge_.broken_invariant(cost);
}

}  // namespace softrnic::ib
