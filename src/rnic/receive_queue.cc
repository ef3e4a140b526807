#include "rnic/receive_queue.h"

#include <algorithm>

namespace softrnic::rnic {

bool ReceiveQueue::allocate(std::uint32_t wrs, std::uint32_t sges, Memory memory) {
  static_assert(sizeof(Header) % alignof(ib::Sge) == 0);
  const std::size_t headers = std::size_t{wrs} * sizeof(Header);
  memory_ = QueueMemory(headers + std::size_t{wrs} * sges * sizeof(ib::Sge), memory.source, memory.kind);
  if (memory_.get() == nullptr) return false;
  headers_ = reinterpret_cast<Header*>(memory_.get());
  sges_ = reinterpret_cast<ib::Sge*>(memory_.get() + headers);
  max_wrs_ = wrs;
  max_sges_ = sges;
  head_ = size_ = 0;
  return true;
}

void ReceiveQueue::move_to(ReceiveQueue& other) {
  for (; size_ > 0; pop()) {
    const Header& header = headers_[head_];
    other.headers_[other.size_] = header;
    std::copy_n(&sges_[std::size_t{head_} * max_sges_], header.sge_count,
                &other.sges_[std::size_t{other.size_} * other.max_sges_]);
    ++other.size_;
  }
}

void ReceiveQueue::push(const ibv_recv_wr& wr) {
  std::uint32_t place = head_ + size_;
  if (place >= max_wrs_) place -= max_wrs_;
  ib::Sge* const sges = &sges_[std::size_t{place} * max_sges_];
  std::uint64_t length = 0;
  for (int i = 0; i < wr.num_sge; ++i) {
    const ibv_sge& from = wr.sg_list[i];
    sges[i] = {from.addr, from.length, MemoryKey(from.lkey)};
    length += from.length;
  }
  headers_[place] = {wr.wr_id, length, static_cast<std::uint32_t>(wr.num_sge)};
  ++size_;
}

ReceiveQueue::Slot ReceiveQueue::front() const {
  const Header& header = headers_[head_];
  return {header.wr_id, header.length, {&sges_[std::size_t{head_} * max_sges_], header.sge_count}};
}

void ReceiveQueue::pop() {
  head_ = head_ + 1 == max_wrs_ ? 0 : head_ + 1;
  --size_;
}

void ReceiveQueue::clear() { head_ = size_ = 0; }

void TakenReceive::take_from(ReceiveQueue& queue) {
  const ReceiveQueue::Slot slot = queue.front();
  std::copy(slot.sges.begin(), slot.sges.end(), sges.begin());
  wqe = {slot.wr_id, std::span(sges.data(), slot.sges.size()), slot.length};
  queue.pop();
}

}  // namespace softrnic::rnic
