#include "transport/iwarp/endpoint.h"

#include <utility>

#include "base/reason_id.h"

namespace softrnic::iwarp {

Endpoint::Endpoint(const ib::Capacity& capacity, ib::Host& host)
    : context_{host, {}, {}},
      requester_(context_, capacity),
      requests_(context_),
      inbound_(context_, requester_, requests_) {}

void Endpoint::start(const Attributes& attributes, const MpaAgreement& agreement, TimePoint now, bool early) {
  context_.attributes = attributes;
  context_.agreement = agreement;
  requests_.start();
  receiver_ = std::make_unique<MpaReceiver>(MpaReceiver::Options{agreement.crc, agreement.markers_in, early},
                                            inbound_);
  SegmentSource& source = *this;
  sender_ = std::make_unique<MpaSender>(MpaSender::Options{agreement.crc, agreement.markers_out}, source);
  ready_due_ = agreement.sends_rtr;
  silent_ = agreement.waits_for_peer != WaitForPeer::none;
  if (agreement.waits_for_peer == WaitForPeer::bounded) reply_arrived(false, now);
  phase_ = Phase::running;
  update(attributes);
}

void Endpoint::update(const Attributes& attributes) {
  context_.attributes = attributes;
  if (sender_ == nullptr) return;
  const MpaAgreement& agreement = context_.agreement;
  sender_->set_max_ulpdu(agreement.long_fpdus ? wire::kMaxUlpduBytes
                                              : wire::max_ulpdu(attributes.emss, agreement.markers_out));
}

void Endpoint::commit() {
  requester_.commit();
  if (in_error()) requester_.flush();
}

// ---- in

void Endpoint::receive(Bytes bytes, TimePoint now) {
  if (!takes_input()) return;
  input_came(now);
  if (!waits()) return take(bytes, now);
  held_.insert(held_.end(), bytes.begin(), bytes.end());
}

void Endpoint::take(Bytes bytes, TimePoint now) {
  receiver_->receive(bytes);
  if (receiver_->waits()) {
    const Bytes rest = receiver_->rest();
    held_ = std::vector<std::byte>(rest.begin(), rest.end());
    patience_end_ = now + kReceivePatience;
  }
  look(now);
}

void Endpoint::try_again(TimePoint now) {
  if (!waits()) return;
  const bool may_begin = inbound_.receives().has_receive();
  if (!may_begin && now < patience_end_) return;
  inbound_.set_patient(may_begin);
  const auto held = std::exchange(held_, {});
  take(held, now);
  if (takes_input()) inbound_.set_patient(true);
}

// Nothing is waited for any more that has not come.
void Endpoint::end_patience(TimePoint now) {
  while (waits()) {
    patience_end_ = now;
    try_again(now);
  }
}

MutableBytes Endpoint::room() {
  if (!takes_input()) return {};
  const MutableBytes room = receiver_->room();
  return inbound_.failure() ? MutableBytes() : room;
}

// What a peer sends that nobody waits for does not put off the end.
void Endpoint::input_came(TimePoint now) {
  if (phase_ == Phase::closing && requester_.unanswered() != 0) moved(now);
}

void Endpoint::filled(std::size_t count, TimePoint now) {
  if (!takes_input()) return;
  input_came(now);
  receiver_->filled(count);
  look(now);
}

// With the last byte of a message, as its payload is in place then.
void Endpoint::answered(TimePoint now) {
  if (takes_input() && receiver_->between_fpdus() && !inbound_.in_message()) requester_.peer_spoke(now);
}

void Endpoint::look(TimePoint now) {
  if (const auto& failure = inbound_.failure())
    return refuse(*failure, inbound_.segment(), inbound_.segment_bytes(), now);
  if (const auto& message = inbound_.terminated()) return peer_terminated(*message);
  answered(now);
}

// ---- out

// From when the reply has arrived its reader has so long.
void Endpoint::reply_arrived(bool yes, TimePoint now) {
  if (!yes) speaks_at_ = now + kFirstWordPatience;
  looks_at_ = yes ? speaks_at_ : now + kReplyLooks;
}

void Endpoint::end_silence(TimePoint now) {
  if (now < speaks_at_) return;
  silent_ = false;
  speaks_at_ = kNever;
}

std::size_t Endpoint::gather(std::span<Bytes> out, TimePoint now) {
  if (phase_ == Phase::idle || phase_ == Phase::ended || shut_down_) return 0;
  end_silence(now);
  std::size_t count = sender_->gather(out);
  if (sender_->broken()) sender_->detach();
  if (count == 0 && !sender_->broken() && takes_input()) {
    if (const auto& refusal = requests_.refusal())
      refuse(refusal->verdict, refusal->headers, refusal->headers.size(), now);
    else if (requester_.failed())
      fail_request(now);
    if (!takes_input()) count = sender_->gather(out);
  }
  if (sender_->broken()) lose(because(ReasonId::iwarp_source_gone, requester_.outstanding()));
  return phase_ == Phase::ended ? 0 : count;
}

void Endpoint::sent(std::size_t count, TimePoint now) {
  if (phase_ == Phase::idle || phase_ == Phase::ended) return;
  asked_ = false;
  sender_->sent(count);
  const bool responds = context_.agreement.waits_for_peer == WaitForPeer::bounded;
  spoke_ = spoke_ || (responds && count != 0 && !inbound_.heard());
  if (!asked_) {
    if (count != 0) moved(now);
    return;
  }
  requester_.complete_sent(now);
  if (phase_ == Phase::closing) complete_delayed();  // the end waits for it
  advanced(now);
}

// Messages are not mixed, and answers take turns with requests. A responder says nothing before the
// initiator has (RFC 5044 7.1.2, RFC 6581 9), which itself begins with the message that says so.
bool Endpoint::next_segment(TxSegment& out, std::size_t max_ulpdu) {
  if (phase_ == Phase::terminating) {
    if (!terminate_due_) return false;
    make_terminate(out);
    return true;
  }
  if (!may_speak()) return false;
  // gather() gives up once what has been made is written: traffic must not put that off
  if (requests_.refusal() || requester_.failed()) return false;
  if (ready_due_) {
    ready_due_ = false;
    requester_.make_ready(context_.agreement.rtr, out);
    return true;
  }
  if (requests_.in_message()) answers_next_ = true;
  if (requester_.in_message()) answers_next_ = false;
  const bool other_may = !requests_.in_message() && !requester_.in_message();
  for (int turn = 0; turn < (other_may ? 2 : 1); ++turn) {
    const bool answers = answers_next_;
    if (answers ? requests_.next_segment(out, max_ulpdu) : requester_.next_segment(out, max_ulpdu)) {
      answers_next_ = !answers;
      return true;
    }
    if (other_may) answers_next_ = !answers;
  }
  return false;
}

std::optional<SegmentSource::Pieces> Endpoint::payload(const TxSegment& segment, std::size_t from,
                                                       std::span<Bytes> out) {
  switch (segment.kind) {
    case SegmentKind::request:
      return requester_.payload(segment, from, out);
    case SegmentKind::response:
      return requests_.payload(segment, from, out);
    case SegmentKind::ready:
      break;
    case SegmentKind::terminate:
      out[0] = Bytes(terminate_bytes_).subspan(from, segment.payload - from);
      return Pieces{1, false};
  }
  return Pieces{};
}

// When this side gives up, all work requests have ended already.
void Endpoint::segment_sent(const TxSegment& segment) {
  context_.host.count(ib::Counter::tx_packets);
  context_.host.count(ib::Counter::tx_bytes, segment.payload);
  if (segment.kind == SegmentKind::terminate) terminate_sent_ = true;
  if (phase_ == Phase::terminating) return;
  if (segment.kind == SegmentKind::request) {
    asked_ = true;
    requester_.segment_sent(segment);
  }
  if (segment.kind == SegmentKind::response) requests_.segment_sent(segment);
}

void Endpoint::make_terminate(TxSegment& out) {
  terminate_due_ = false;
  wire::DdpHeader header = wire::ddp_header(wire::RdmapOpcode::terminate);
  header.msn = 1;
  out.kind = SegmentKind::terminate;
  out.last = true;
  out.head_bytes = static_cast<std::uint16_t>(wire::kFpduHeaderBytes + wire::encode(header, out.headers()));
  out.payload = static_cast<std::uint16_t>(wire::encode(terminate_, terminate_bytes_));
}

}  // namespace softrnic::iwarp
