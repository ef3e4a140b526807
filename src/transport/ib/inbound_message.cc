#include "transport/ib/inbound_message.h"

#include <algorithm>
#include <array>

#include "base/reason_id.h"
#include "transport/ib/failed_receive.h"
#include "transport/ib/ordered_copy.h"
#include "transport/ib/rights.h"
#include "transport/ib/rx_packet.h"

namespace softrnic::ib {
namespace {

bool is_write(const wire::OpcodeInfo& info) { return info.operation == wire::Operation::write; }

template <typename... Figures>
Verdict invalid(ReasonId id, Figures... figures) {
  return {Fault::invalid_request, because(id, figures...)};
}

Verdict not_placed(Fault fault, const Reason& reason) {
  return {reason.id == ReasonId::payload_gone ? Fault::payload_gone : fault, reason};
}

}  // namespace

Verdict wrong_length(const RxPacket& rx, std::uint32_t mtu) {
  return invalid(ReasonId::nak_length, rx.wire_bytes(), mtu, rx.wire_opcode());
}

Verdict InboundMessage::interrupted_by(const wire::OpcodeInfo& info) const {
  if (!active_) return {};
  return invalid(ReasonId::nak_opcode_sequence, info.opcode, last_opcode_);
}

// IBTA 9.7.4.1.2 (RC) and 9.8.2.2.2 (UC), valid opcode sequences.
Verdict InboundMessage::check_order(const wire::OpcodeInfo& info) const {
  const bool continues = !info.starts();
  const bool same = active_ && is_write(info) == is_write_;
  if (continues == active_ && (!continues || same)) return {};
  return invalid(ReasonId::nak_opcode_sequence, info.opcode, last_opcode_);
}

Verdict InboundMessage::check_length(const RxPacket& rx, std::uint32_t mtu) const {
  const wire::Packet& packet = rx.packet;
  const std::size_t size = rx.payload_bytes();
  if (!rx.lengths_fit(mtu)) return wrong_length(rx, mtu);
  if (!is_write(*packet.info)) {
    if (received_ <= kMaxMessage - size || packet.info->starts()) return {};
    return invalid(ReasonId::nak_message_length, received_ + std::uint64_t{size}, kMaxMessage);
  }
  // IBTA 9.7.4: the packets of a WRITE carry exactly what its RETH announced.
  const std::uint32_t announced = packet.info->starts() ? packet.headers.reth.length : remaining_;
  if (announced > kMaxMessage) return invalid(ReasonId::nak_message_length, kMaxMessage, announced);
  if (packet.info->ends() ? size == announced : size < announced) return {};
  const std::uint64_t before = packet.info->starts() ? 0 : received_;
  return invalid(ReasonId::nak_message_length, before + size, before + announced);
}

// A right may be taken in the middle of a message; then the rest of it does not land.
Verdict InboundMessage::check_write(const RxPacket& rx, const Attributes& attributes, Host& host) const {
  const wire::Packet& packet = rx.packet;
  constexpr std::uint32_t kRight = needs_of(SendOp::write).access;
  if ((attributes.access & kRight) == 0) {
    return invalid(ReasonId::nak_qp_access, attributes.access, kRight, packet.info->opcode);
  }
  if (!packet.info->starts()) return {};
  const wire::Reth& reth = packet.headers.reth;
  if (reth.length == 0) return {};  // C9-88: the key of a zero-length WRITE is not checked
  auto memory = host.remote_memory(reth.key, reth.address, reth.length, kRemoteWrite);
  if (!memory) return {Fault::remote_access, memory.error()};
  return {};
}

Verdict InboundMessage::check(const RxPacket& rx, const Attributes& attributes, Host& host) const {
  const wire::OpcodeInfo& info = *rx.packet.info;
  if (auto verdict = check_order(info); !verdict) return verdict;
  if (auto verdict = check_length(rx, attributes.path_mtu); !verdict) return verdict;
  return is_write(info) ? check_write(rx, attributes, host) : Verdict{};
}

void InboundMessage::count_refused(const wire::OpcodeInfo& info, Host& host) {
  if (is_write(info)) host.ended(Counted::remote_write, false, 0);
  if (info.operation == wire::Operation::read_request) host.ended(Counted::remote_read, false, 0);
}

bool InboundMessage::needs_receive(const wire::OpcodeInfo& info) {
  return is_write(info) ? info.has(wire::kImmDt) : info.starts();
}

const RecvWqe* InboundMessage::take_receive(Host& host) {
  if (receive_ == nullptr) receive_ = host.take_receive();
  return receive_;
}

Verdict InboundMessage::take_receive_for(const RxPacket& rx, Host& host) {
  if (receive_ == nullptr && host.lookahead() != 0 && !is_write(*rx.packet.info)) {
    std::array<std::byte, Host::kMostLookahead> first;
    const std::size_t seen = std::min(host.lookahead(), rx.payload_bytes());
    if (!copy(rx.payload(), 0, first.data(), seen))
      return {Fault::payload_gone, because(ReasonId::payload_gone, rx.payload_bytes())};
    receive_ = host.take_receive_for({first.data(), seen}, rx.payload_bytes(), rx.packet.info->ends());
  } else {
    take_receive(host);
  }
  return receive_ == nullptr ? Verdict{Fault::no_receive, {}} : Verdict{};
}

Verdict InboundMessage::place(const RxPacket& rx, const Attributes& attributes, Host& host) {
  const wire::Packet& packet = rx.packet;
  const wire::OpcodeInfo& info = *packet.info;
  if (auto verdict = check(rx, attributes, host); !verdict) return verdict;
  const bool write = is_write(info);
  if (needs_receive(info)) {
    if (auto taken = take_receive_for(rx, host); !taken) return taken;
  }
  if (info.starts()) {
    cursor_ = {};
    received_ = 0;
    is_write_ = write;
    if (write) {
      address_ = packet.headers.reth.address;
      rkey_ = packet.headers.reth.key;
      remaining_ = packet.headers.reth.length;
    }
  }
  auto verdict = write ? place_write(rx.payload(), host) : place_send(rx.payload(), host);
  if (!verdict) return verdict;
  received_ += static_cast<std::uint32_t>(rx.payload_bytes());
  last_opcode_ = info.opcode;
  active_ = !info.ends();
  return active_ ? Verdict{} : finish(rx, host);
}

Verdict InboundMessage::place_send(const Payload& payload, Host& host) {
  const std::uint32_t skipped = receive_->skipped;
  if (received_ + payload.size > receive_->length + skipped) {
    return {Fault::receive_short,
            because(ReasonId::nak_receive_too_short, received_ + payload.size, receive_->length + skipped)};
  }
  const std::size_t skip = received_ < skipped ? std::min<std::size_t>(skipped - received_, payload.size) : 0;
  if (skip == payload.size) return {};
  auto done = scatter(host, LocalUse::receive, receive_->sges, cursor_, received_ + skip - skipped,
                      payload.behind(skip));
  if (!done) return not_placed(Fault::receive_memory, done.error());
  return {};
}

Verdict InboundMessage::place_write(const Payload& payload, Host& host) {
  if (payload.size == 0) return {};
  auto memory = host.remote_memory(rkey_, address_, payload.size, kRemoteWrite);
  if (!memory) return {Fault::remote_access, memory.error()};
  if (auto placed = ib::place(host, payload, 0, *memory, payload.size); !placed)
    return not_placed(Fault::remote_access, placed.error());
  address_ += payload.size;
  remaining_ -= static_cast<std::uint32_t>(payload.size);
  return {};
}

Verdict InboundMessage::finish(const RxPacket& rx, Host& host) {
  const wire::Packet& packet = rx.packet;
  const wire::OpcodeInfo& info = *packet.info;
  if (info.has(wire::kIeth)) {
    auto done = host.invalidate(packet.headers.invalidate);
    if (!done) return {Fault::invalidate, done.error()};
  }
  if (is_write_) host.ended(Counted::remote_write, true, received_);
  if (is_write_ && !info.has(wire::kImmDt)) return {};
  RecvDone done;
  done.wr_id = receive_->wr_id;
  done.is_write = is_write_;
  done.has_immediate = info.has(wire::kImmDt);
  done.has_invalidate = info.has(wire::kIeth);
  done.solicited = packet.headers.bth.solicited;
  done.immediate = done.has_invalidate ? packet.headers.invalidate.value : packet.headers.immediate;
  done.length = received_;
  receive_ = nullptr;
  host.complete(done);
  return {};
}

// What has been taken or written by then is taken or written again for the packet. A message that a host has
// to look at comes as a packet too: what follows of it may be more than a completion.
bool InboundMessage::place(const EagerSend& eager, Host& host) {
  if (active_ || host.lookahead() != 0 || take_receive(host) == nullptr ||
      eager.payload.size() > receive_->length)
    return false;
  SgeCursor cursor;
  if (!scatter(host, LocalUse::receive, receive_->sges, cursor, 0,
               {eager.payload, nullptr, eager.payload.size()}))
    return false;
  RecvDone done;
  done.wr_id = receive_->wr_id;
  done.has_immediate = eager.has_immediate;
  done.solicited = eager.solicited;
  done.immediate = eager.immediate;
  done.length = static_cast<std::uint32_t>(eager.payload.size());
  receive_ = nullptr;
  host.complete(done);
  return true;
}

bool InboundMessage::spoil_receive(const wire::OpcodeInfo& info, const Reason& reason, Host& host) {
  if (!is_write(info) || !needs_receive(info) || take_receive(host) == nullptr) return false;
  fail_receive(Status::local_access, reason, host);
  return true;
}

void InboundMessage::fail_receive(Status status, const Reason& reason, Host& host) {
  active_ = false;
  if (receive_ == nullptr) return;
  const RecvDone done = failed_receive(receive_->wr_id, status, reason);
  receive_ = nullptr;
  host.complete(done);
}

}  // namespace softrnic::ib
