// Eager sends of a reliable connection (see eager_send.h). What they go through in the endpoint and its two
// halves stands in one file, so that the compiler makes one function of it.
#include <algorithm>

#include "base/hot_path.h"
#include "transport/ib/packet_builder.h"
#include "transport/ib/rc_endpoint.h"

namespace softrnic::ib {
namespace {

bool find_payload(Host& host, const SendQueue& queue, const SendEntry& entry, Bytes& out) {
  const SendWqe& wqe = entry.wqe;
  if (wqe.length == 0 || wqe.is_inline) {
    out = {queue.inline_data(entry), wqe.length};
    return true;
  }
  if (wqe.sge_count != 1) return false;
  const Sge& sge = queue.sges(entry).front();
  auto memory = host.local_memory(sge.lkey, sge.address, sge.length, LocalUse::send);
  if (!memory || memory->on_demand) return false;
  out = {memory->at, sge.length};
  return true;
}

}  // namespace

// ---- the endpoint

SOFTRNIC_HOT_PATH bool RcEndpoint::next_eager(EagerSend& out) {
  return mode_ == Mode::sending && requester_.next_eager(out);
}

SOFTRNIC_HOT_PATH void RcEndpoint::eager_sent(TimePoint now) {
  host_.count(Counter::tx_packets);
  host_.count(Counter::tx_bytes, requester_.eager_sent(now));
}

SOFTRNIC_HOT_PATH bool RcEndpoint::receive_eager(const EagerSend& eager, const wire::Gid& source) {
  if (!admits(eager, source) || !responder_.receive_eager(eager)) return false;
  host_.count(Counter::rx_packets);
  host_.count(Counter::rx_bytes, eager.payload.size());
  return true;
}

SOFTRNIC_HOT_PATH void RcEndpoint::acknowledged(std::uint32_t psn, std::uint8_t credit, TimePoint now) {
  if (!may_send()) return;
  requester_.acknowledged(psn, credit, now);
  check_failure();
}

// ---- the requester

// Nothing is to be sent again, nor before the next work request, nor in another way.
bool RcRequester::fast_path_ok() const {
  return sequence_.current_is_fresh() && sequence_.next_is_new() && !direct_.under_way() && !stopping() &&
         recovery_.idle() && context_.window != nullptr && context_.window->has_room() &&
         sequence_.next() - sequence_.una() < Psn::kHalf / 2;
}

bool RcRequester::next_eager(EagerSend& out) {
  if (!has_unsent() || !fast_path_ok()) return false;
  const SendEntry& entry = sequence_.current();
  const SendWqe& wqe = entry.wqe;
  const bool is_send = wqe.op == SendOp::send || wqe.op == SendOp::send_with_imm;
  if (!is_send || wqe.length > std::min(EagerSend::kMostBytes, context_.attributes.path_mtu) ||
      (wqe.fence && reads_out_ > 0) || !credit_.any() ||
      !find_payload(context_.host, queue(), entry, out.payload))
    return false;
  out.destination = context_.attributes.remote;
  out.psn = sequence_.next().wire();
  out.immediate = wqe.immediate;
  out.pkey = context_.attributes.pkey;
  out.has_immediate = wqe.op == SendOp::send_with_imm;
  out.solicited = wqe.solicited;
  return true;
}

std::uint32_t RcRequester::eager_sent(TimePoint now) {
  SendEntry& entry = sequence_.current();
  begin(entry, RequestExtent{});  // one packet
  mark_in_flight(entry, entry.first, entry.end, now);
  ack_requests_.requested();
  return entry.wqe.length;
}

// Not the time of an answer: `now` is not good enough for that. Nor the answer to a probe,
// which comes as a packet.
void RcRequester::acknowledged(std::uint32_t psn, std::uint8_t credit, TimePoint now) {
  const Psn end = Psn::unwrap(psn, sequence_.una());
  if (failed() || end < sequence_.una() || end > sequence_.top()) return;
  if (end == sequence_.una()) return credit_.told(credit);
  context_.host.count(Counter::acks_received);
  recovery_.answered_earlier(end);
  acknowledge_before(end, now, false);
  credit_.told(credit);
}

// ---- the responder

bool RcResponder::receive_eager(const EagerSend& eager) {
  if (failed_ || eager.psn != expected_.wire() || !message_.place(eager, context_.host)) return false;
  nak_.expected_came();
  any_accepted_ = true;
  ack_psn_ = expected_;
  ++expected_;
  msn_ = (msn_ + 1) & wire::kPsnMask;
  receive_used();
  if (nak_.must_ask(expected_)) ask();
  return true;
}

}  // namespace softrnic::ib
