#include "transport/iwarp/answers.h"

#include <cstring>

#include "base/reason_id.h"

namespace softrnic::iwarp {

using wire::RdmapOperation;

Verdict Answers::begin(const wire::DdpHeader& header, const wire::RdmapOpcodeInfo& info,
                       std::size_t payload) {
  atomic_ = info.operation == RdmapOperation::atomic_response;
  ready_ = !atomic_ && requester_.ready_awaited();
  payload_ = payload;
  last_ = header.last;
  if (ready_) return begin_ready(header, payload);
  const auto unasked = atomic_ ? Fault::unasked : Fault::unasked_tagged;
  const auto awaited = requester_.awaited();
  if (!awaited || ib::is_atomic(requester_.request(*awaited).op) != atomic_)
    return {unasked, because(ReasonId::iwarp_unasked, header.opcode)};
  index_ = *awaited;
  return atomic_ ? check_body(header, info, payload, due_) : begin_read(header, payload);
}

Verdict Answers::begin_ready(const wire::DdpHeader& header, std::size_t payload) {
  if (payload == 0 && header.last) return {};
  return {Fault::unasked_tagged, because(ReasonId::iwarp_unasked, header.opcode)};
}

// The response has the sink that was asked for, from its first byte to its last, in order: anything else
// would be a peer that writes where it likes.
Verdict Answers::begin_read(const wire::DdpHeader& header, std::size_t payload) {
  no_body();
  const auto sinks = requester_.sges(index_);
  const MemoryKey stag = sinks.empty() ? MemoryKey() : sinks[0].lkey;
  const std::uint64_t due = (sinks.empty() ? 0 : sinks[0].address) + received_;
  const std::uint32_t length = requester_.request(index_).length;
  const auto beside =
      because(ReasonId::iwarp_read_response, header.stag.value, header.offset, stag.value, due);
  if (header.stag != stag) return {Fault::unasked_tagged, beside};
  if (header.offset != due) return {Fault::response_bounds, beside};
  const std::uint64_t bytes = std::uint64_t{received_} + payload;
  const bool empty = payload == 0 && !last_;  // would go on for ever
  if (bytes > length || (last_ && bytes != length) || empty)
    return {Fault::response_bounds, because(ReasonId::iwarp_read_length, bytes, length)};
  return {};
}

Expected<Place, Verdict> Answers::place(std::size_t offset, std::size_t most) {
  if (atomic_) return BodyTaker::place(offset, most);
  const auto found =
      place_in(context_.host, ib::LocalUse::response, requester_.sges(index_), received_ + offset, most);
  if (!found) return Unexpected{Verdict{Fault::sink_memory, found.error()}};
  return *found;
}

Verdict Answers::end() {
  if (ready_) {
    requester_.ready_answered();
    return {};
  }
  if (atomic_) return end_atomic();
  received_ += static_cast<std::uint32_t>(payload_);
  return last_ ? finish() : Verdict{};
}

Verdict Answers::end_atomic() {
  const wire::AtomicResponse response = wire::parse_atomic_response(body());
  ++due_;
  for (std::size_t done = 0; done < sizeof response.original;) {
    const auto found = place_in(context_.host, ib::LocalUse::response, requester_.sges(index_), done,
                                sizeof response.original - done);
    if (!found) return {Fault::sink_memory, found.error()};
    const std::byte* const from = reinterpret_cast<const std::byte*>(&response.original) + done;
    if (!found->memory.on_demand) {
      std::memcpy(found->memory.at, from, found->size);
    } else if (!context_.host.store(found->memory.at, from, found->size)) {
      return {Fault::sink_memory, because(ReasonId::page_missing, found->size, done)};
    }
    done += found->size;
  }
  return finish();
}

// A READ may end the use of a key of this side, that of its sink mostly: then nobody writes there any more
// when it completes.
Verdict Answers::finish() {
  received_ = 0;
  const ib::SendWqe& wqe = requester_.request(index_);
  if (wqe.op == ib::SendOp::read && wqe.immediate != 0) {
    ib::SendWqe invalidate;
    invalidate.op = ib::SendOp::local_invalidate;
    invalidate.rkey = MemoryKey(wqe.immediate);
    if (auto done = context_.host.execute_locally(invalidate); !done)
      return {Fault::sink_memory, done.error()};
  }
  requester_.answered(index_);
  return {};
}

}  // namespace softrnic::iwarp
