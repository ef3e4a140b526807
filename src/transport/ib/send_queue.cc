#include "transport/ib/send_queue.h"

#include <algorithm>
#include <bit>
#include <new>

namespace softrnic::ib {

SendQueue::Layout::Layout(const Capacity& capacity)
    : limit(std::max(capacity.send_wqes, 1U)), mask(std::bit_ceil(limit) - 1) {
  const std::size_t room =
      std::max<std::size_t>(capacity.send_sges * sizeof(Sge), capacity.inline_bytes) + capacity.header_bytes;
  constexpr std::size_t kAlign = alignof(SendEntry);
  stride = sizeof(SendEntry) + (room + kAlign - 1) / kAlign * kAlign;
}

std::size_t send_queue_bytes(const Capacity& capacity) { return SendQueue::Layout(capacity).bytes(); }

SendQueue::SendQueue(const Capacity& capacity)
    : ring_(capacity.send_queue),
      inline_bytes_(capacity.inline_bytes),
      sge_limit_(capacity.send_sges),
      header_bytes_(capacity.header_bytes) {
  const Layout layout(capacity);
  stride_ = layout.stride;
  limit_ = layout.limit;
  mask_ = layout.mask;
  if (ring_ != nullptr) return;
  own_ = std::make_unique_for_overwrite<std::byte[]>(layout.bytes());
  ring_ = own_.get();
}

SendSlot SendQueue::reserve() {
  if (size() >= limit_) return {};
  auto* e = new (ring_ + std::size_t{tail_ & mask_} * stride_) SendEntry;
  auto* room = reinterpret_cast<std::byte*>(e + 1);
  return {&e->wqe,
          {reinterpret_cast<Sge*>(room), sge_limit_},
          {room, inline_bytes_},
          {room + header_at(), header_bytes_}};
}

}  // namespace softrnic::ib
