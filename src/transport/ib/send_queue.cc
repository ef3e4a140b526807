#include "transport/ib/send_queue.h"

#include <algorithm>
#include <bit>
#include <new>

namespace softrnic::ib {

SendQueue::SendQueue(const Capacity& capacity)
    : limit_(std::max(capacity.send_wqes, 1U)),
      mask_(std::bit_ceil(limit_) - 1),
      inline_bytes_(capacity.inline_bytes),
      sge_limit_(capacity.send_sges) {
  const std::size_t room = std::max<std::size_t>(sge_limit_ * sizeof(Sge), inline_bytes_);
  constexpr std::size_t kAlign = alignof(SendEntry);
  stride_ = sizeof(SendEntry) + (room + kAlign - 1) / kAlign * kAlign;
  ring_ = std::make_unique_for_overwrite<std::byte[]>(heap_bytes());
}

SendSlot SendQueue::reserve() {
  if (size() >= limit_) return {};
  auto* e = new (ring_.get() + std::size_t{tail_ & mask_} * stride_) SendEntry;
  auto* room = reinterpret_cast<std::byte*>(e + 1);
  return {&e->wqe, {reinterpret_cast<Sge*>(room), sge_limit_}, {room, inline_bytes_}};
}

}  // namespace softrnic::ib
