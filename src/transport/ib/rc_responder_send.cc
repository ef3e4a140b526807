// The sending side of the RC responder.
#include <algorithm>

#include "transport/ib/packet_builder.h"
#include "transport/ib/rc_responder.h"

namespace softrnic::ib {
namespace {

using enum wire::Opcode;

constexpr MessageOpcodes kReadResponses = {rc_read_response_first,
                                           rc_read_response_middle,
                                           rc_read_response_last,
                                           rc_read_response_only,
                                           true,
                                           false};

}  // namespace

// Payload waits until it is known which way it goes. ACKs do not: they are few bytes, and the peer may wait
// for its completions.
Transmit RcResponder::transmit(TxPacket& out) {
  while (ReadAtomic* next = resources_.pending()) {
    if (context_.window != nullptr && context_.window->undecided()) return Transmit::blocked;
    if (next->kind == Answer::word) {
      send_atomic_response(*next, out);
      return Transmit::packet;
    }
    if (send_read_response(*next, out)) return Transmit::packet;
  }
  return transmit_ack(out) ? Transmit::packet : Transmit::idle;
}

// A NAK acknowledges what is before it, but only to a requester that has sent the PSN that it names: a packet
// from ahead may be somebody else's. So an ACK that is owed goes out before the NAK of a sequence error.
bool RcResponder::transmit_ack(TxPacket& out) {
  if (nak_.owed() && !(ack_owed_ && nak_.asks_to_go_back())) {
    ack_owed_ = false;
    const NakState::Nak nak = nak_.take();
    acknowledge(out, nak.syndrome, nak.psn);
    return true;
  }
  if (!ack_owed_) return false;
  ack_owed_ = false;
  acknowledge(out, tell_credit(), ack_psn_);
  context_.host.count(Counter::acks_sent);
  return true;
}

// The receive of a message that has not ended is one of those that are at hand: the message is not counted
// in the MSN either.
std::optional<std::uint32_t> RcResponder::receives_at_hand() const {
  auto receives = context_.host.receives_posted();
  if (receives && message_.receive_id() != nullptr) ++*receives;
  return receives;
}

std::uint8_t RcResponder::tell_credit() {
  const std::uint8_t code = credit_.tell(receives_at_hand());
  context_.host.want_receives(credit_.exhausted());
  return code;
}

void RcResponder::acknowledge(TxPacket& out, std::uint8_t syndrome, Psn psn) {
  begin_packet(out, context_.attributes, rc_acknowledge, psn);
  out.headers.aeth = {syndrome, msn_};
}

void RcResponder::send_atomic_response(ReadAtomic& atomic, TxPacket& out) {
  begin_packet(out, context_.attributes, rc_atomic_acknowledge, atomic.first);
  out.headers.aeth = {credit_syndrome(receives_at_hand()), atomic.msn};
  out.headers.atomic_original = atomic.original;
  atomic.sent();
}

Expected<HostMemory, Reason> RcResponder::read_memory(const ReadAtomic& read, std::uint64_t offset,
                                                      std::uint32_t size) {
  if (read.srqn != 0) {
    if (auto selected = context_.host.select_srq(read.srqn); !selected) return Unexpected{selected.error()};
  }
  return context_.host.remote_memory(read.rkey, read.address + offset, size, kRemoteRead);
}

bool RcResponder::send_read_response(ReadAtomic& read, TxPacket& out) {
  const std::uint32_t mtu = context_.attributes.path_mtu;
  const std::uint64_t offset = std::uint64_t{read.next} * mtu;
  const std::uint32_t most = context_.window == nullptr ? 1 : context_.window->packets_at_once(mtu);
  const std::uint32_t count = std::min(most, read.stop - read.next);
  const std::uint32_t size = std::min(count * mtu, static_cast<std::uint32_t>(read.stop_offset - offset));
  const bool last = read.next + count == read.stop;
  begin_packet(out, context_.attributes, kReadResponses.at(read.next == read.begin, last),
               read.first + read.next);
  out.headers.aeth = {credit_syndrome(receives_at_hand()), read.msn};
  out.headers.bth.pad = wire::pad_for(size);
  if (size > 0) {
    auto memory = read_memory(read, offset, size);
    if (!memory) return read_failed(read, memory.error(), out);
    if (auto added = add_fragment(context_.host, *memory, size, read.rkey, size, out); !added)
      return read_failed(read, added.error(), out);
  }
  out.packets = count;
  out.again = read.again;
  const bool answered_before = read.answered;
  read.sent(count);
  if (read.answered && !answered_before && read.kind == Answer::data)
    context_.host.ended(Counted::remote_read, true, read.length);
  return true;
}

// The region went away while it was being read. One that was answered before is only being repeated, perhaps
// for a packet that the network doubled, and the program may have released the region since: no reason to end
// the connection here. A peer that has the data takes no notice of the NAK; one that has not learns why it
// waits, for ever without a timeout.
bool RcResponder::read_failed(ReadAtomic& read, const Reason& reason, TxPacket& out) {
  const Psn psn = read.first + read.next;
  context_.host.explain(reason, nullptr);
  context_.host.count(Counter::nak_access_sent);
  if (read.answered) {
    read.stop = read.next;
    acknowledge(out, wire::kNakRemoteAccess, psn);
    return true;
  }
  resources_.drop_pending();  // later answers would be out of order
  nak_.owe(wire::kNakRemoteAccess, psn);
  if (failed_) return false;
  failed_ = true;
  context_.host.ended(Counted::remote_read, false, 0);
  event_ = QpEvent::access_error;
  return false;
}

}  // namespace softrnic::ib
