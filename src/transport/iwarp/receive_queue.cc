#include "transport/iwarp/receive_queue.h"

#include "base/reason_id.h"
#include "transport/ib/failed_receive.h"
#include "transport/ib/inbound_message.h"

namespace softrnic::iwarp {

using wire::RdmapOperation;

Verdict ReceiveQueue::begin(const wire::DdpHeader& header, const wire::RdmapOpcodeInfo& info,
                            std::size_t payload) {
  const bool immediate = info.operation == RdmapOperation::immediate;
  if (active_ && &info != info_) return {Fault::opcode, because(ReasonId::iwarp_opcode, header.opcode)};
  if (auto verdict = immediate ? check_body(header, info, payload, due_) : begin_send(header, info, payload);
      !verdict)
    return verdict;
  info_ = &info;
  last_ = header.last;
  invalidate_ = header.ulp;
  payload_ = static_cast<std::uint32_t>(payload);
  return take_receive();
}

Verdict ReceiveQueue::begin_send(const wire::DdpHeader& header, const wire::RdmapOpcodeInfo&,
                                 std::size_t payload) {
  no_body();
  if (auto verdict = check_sequence(header, due_); !verdict) return verdict;
  if (header.message_offset != received_)
    return {Fault::offset, because(ReasonId::iwarp_offset, header.queue, header.message_offset, received_)};
  if (payload > ib::kMaxMessage - received_)
    return {Fault::receive_short,
            because(ReasonId::nak_message_length, std::uint64_t{received_} + payload, ib::kMaxMessage)};
  return {};
}

bool ReceiveQueue::has_receive() {
  if (receive_ == nullptr) receive_ = context_.host.take_receive();
  return receive_ != nullptr;
}

Verdict ReceiveQueue::take_receive() {
  if (!has_receive()) return {Fault::no_receive, because(ReasonId::iwarp_no_receive, due_)};
  if (info_->operation == RdmapOperation::immediate) return {};
  const std::uint64_t bytes = std::uint64_t{received_} + payload_;
  if (bytes <= receive_->length) return {};
  return {Fault::receive_short, because(ReasonId::nak_receive_too_short, bytes, receive_->length)};
}

Expected<Place, Verdict> ReceiveQueue::place(std::size_t offset, std::size_t most) {
  if (info_->operation == RdmapOperation::immediate) return BodyTaker::place(offset, most);
  const auto found = place_in(context_.host, ib::LocalUse::receive, receive_->sges, received_ + offset, most);
  if (!found) return Unexpected{Verdict{Fault::receive_memory, found.error()}};
  return *found;
}

Verdict ReceiveQueue::end() {
  received_ += payload_;
  active_ = !last_;
  if (active_) return {};
  const std::uint64_t written = written_;
  written_ = 0;
  if (info_->operation != RdmapOperation::immediate) return end_send();
  ib::RecvDone done;
  done.is_write = true;
  done.has_immediate = true;
  done.immediate = wire::parse_immediate(body()).value;
  complete(done, written);
  return {};
}

Verdict ReceiveQueue::end_send() {
  ib::RecvDone done;
  if (info_->invalidates) {
    const auto invalidated = context_.host.invalidate(MemoryKey(invalidate_));
    if (!invalidated) return {Fault::invalidate, invalidated.error()};
    done.has_invalidate = true;
    done.immediate = invalidate_;
  }
  complete(done, received_);
  return {};
}

void ReceiveQueue::complete(ib::RecvDone done, std::uint64_t bytes) {
  done.wr_id = receive_->wr_id;
  done.solicited = info_->solicited;
  done.length = static_cast<std::uint32_t>(bytes);
  receive_ = nullptr;
  received_ = 0;
  ++due_;
  context_.host.complete(done);
}

Verdict ReceiveQueue::take_ready(const wire::DdpHeader& header) {
  if (auto verdict = check_sequence(header, due_); !verdict) return verdict;
  ++due_;
  return {};
}

void ReceiveQueue::fail_receive(ib::Status status, const Reason& reason) {
  active_ = false;
  if (receive_ == nullptr) return;
  const ib::RecvDone done = ib::failed_receive(receive_->wr_id, status, reason);
  receive_ = nullptr;
  context_.host.complete(done);
}

void ReceiveQueue::reset() {
  receive_ = nullptr;
  active_ = false;
  due_ = 1;
  received_ = 0;
  written_ = 0;
}

}  // namespace softrnic::iwarp
