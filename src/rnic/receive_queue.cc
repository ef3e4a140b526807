#include "rnic/receive_queue.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace softrnic::rnic {

void ReceiveQueue::Free::operator()(void* memory) const { std::free(memory); }

// malloc, as memory that is not used shall not be touched.
bool ReceiveQueue::allocate(std::uint32_t wrs, std::uint32_t sges) {
  headers_.reset(static_cast<Header*>(std::malloc(wrs * sizeof(Header))));
  sges_.reset(static_cast<ib::Sge*>(std::malloc(std::size_t{wrs} * sges * sizeof(ib::Sge))));
  max_wrs_ = wrs;
  max_sges_ = sges;
  head_ = size_ = 0;
  return headers_ != nullptr && sges_ != nullptr;
}

bool ReceiveQueue::resize(std::uint32_t wrs) {
  if (wrs < size_) return false;
  ReceiveQueue bigger;
  if (!bigger.allocate(wrs, max_sges_)) return false;
  for (; size_ > 0; pop()) {
    const Header& header = headers_[head_];
    bigger.headers_[bigger.size_] = header;
    for (std::size_t i = 0; i < header.sge_count; ++i) {
      bigger.sges_[std::size_t{bigger.size_} * max_sges_ + i] = sges_[std::size_t{head_} * max_sges_ + i];
    }
    ++bigger.size_;
  }
  *this = std::move(bigger);
  return true;
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
