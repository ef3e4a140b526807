#include "transport/ib/outbound.h"

#include <algorithm>

#include "base/reason_id.h"

namespace softrnic::ib {

Expected<void, Reason> add_payload(Host& host, const SendQueue& queue, const SendEntry& entry,
                                   std::uint32_t offset, std::uint32_t most, SgeCursor& cursor,
                                   TxPacket& out) {
  const std::uint32_t size = std::min(most, entry.wqe.length - offset);
  out.headers.bth.pad = wire::pad_for(size);
  if (!entry.wqe.is_inline) return gather(host, queue.sges(entry), cursor, offset, size, out);
  if (size > 0) {
    out.fragments[out.fragment_count++] = {queue.inline_data(entry) + offset, size, MemoryKey()};
    out.payload_bytes = size;
  }
  return {};
}

void complete_front(Host& host, SendQueue& queue, Status status, const Reason& reason) {
  const SendWqe& wqe = queue.front().wqe;
  const bool success = status == Status::success;
  const SendDone done{wqe.wr_id, wqe.op, status, wqe.signaled, success ? wqe.length : 0, reason, wqe.by_host};
  queue.pop();
  if (!success && status != Status::flushed) host.explain(reason, &done.wr_id);
  if (!done.by_host) host.ended(done.op, success, done.length);
  if (!success || done.signaled) host.complete(done);
}

Expected<void, Reason> execute_front(Host& host, SendQueue& queue) {
  auto done = host.execute_locally(queue.front().wqe);
  if (done) complete_front(host, queue, Status::success);
  return done;
}

void flush_all(Host& host, SendQueue& queue) {
  while (!queue.empty()) complete_front(host, queue, Status::flushed, because(ReasonId::flushed));
}

}  // namespace softrnic::ib
