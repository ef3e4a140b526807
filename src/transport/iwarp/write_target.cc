#include "transport/iwarp/write_target.h"

#include "base/reason_id.h"
#include "transport/iwarp/receive_queue.h"

namespace softrnic::iwarp {

// Each segment says where it goes. One without payload names no memory that could be checked (RFC 5040
// 5.3).
Verdict WriteTarget::begin(const wire::DdpHeader& header, const wire::RdmapOpcodeInfo&, std::size_t payload) {
  header_ = header;
  payload_ = payload;
  if (payload == 0) return {};
  const auto memory = context_.host.remote_memory(header.stag, header.offset, payload, ib::kRemoteWrite);
  if (!memory) return {Fault::tagged, memory.error()};
  return {};
}

Expected<Place, Verdict> WriteTarget::place(std::size_t offset, std::size_t most) {
  const auto memory =
      context_.host.remote_memory(header_.stag, header_.offset + offset, most, ib::kRemoteWrite);
  if (!memory) return Unexpected{Verdict{Fault::tagged, memory.error()}};
  return Place{*memory, most};
}

Verdict WriteTarget::end() {
  active_ = !header_.last;
  bytes_ += payload_;
  if (active_) return {};
  receives_.write_ended(bytes_);
  context_.host.ended(ib::Counted::remote_write, true, bytes_);
  bytes_ = 0;
  return {};
}

}  // namespace softrnic::iwarp
