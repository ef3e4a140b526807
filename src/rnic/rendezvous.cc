#include "rnic/rendezvous.h"

#include <algorithm>

namespace softrnic::rnic {
namespace {

constexpr std::uint32_t kWqesEach = 2;

// Of the buffer's elements so much as the payload fills.
void fill_read(ib::SendSlot& slot, const TagEntry& entry) {
  ib::SendWqe& wqe = *slot.wqe;
  wqe.wr_id = entry.buffer.wr_id;
  wqe.op = ib::SendOp::read;
  wqe.length = entry.message.length;
  wqe.remote_address = entry.message.address;
  wqe.rkey = entry.message.rkey;
  std::uint32_t left = wqe.length;
  for (const ib::Sge& place : entry.buffer.places()) {
    if (left == 0) break;
    ib::Sge& sge = slot.sges[wqe.sge_count++] = place;
    sge.length = std::min(sge.length, left);
    left -= sge.length;
  }
}

// IBTA 10.8.3: fenced, it goes when the READ before it has been answered.
void fill_fin(ib::SendSlot& slot, const TagEntry& entry) {
  const TagMessage::Headers fin = fin_of(entry.message);
  std::copy(fin.begin(), fin.end(), slot.inline_data.begin());
  slot.wqe->wr_id = entry.buffer.wr_id;
  slot.wqe->op = ib::SendOp::send;
  slot.wqe->length = static_cast<std::uint32_t>(fin.size());
  slot.wqe->is_inline = true;
  slot.wqe->fence = true;
}

void commit(ib::Endpoint& endpoint, ib::SendSlot& slot) {
  slot.wqe->by_host = slot.wqe->signaled = true;
  endpoint.commit();
}

}  // namespace

void Rendezvous::Fifo::push(TagEntry& entry) {
  entry.next = nullptr;
  (tail_ != nullptr ? tail_->next : head_) = &entry;
  tail_ = &entry;
}

TagEntry* Rendezvous::Fifo::pop() {
  TagEntry* const entry = head_;
  if (entry == nullptr) return nullptr;
  head_ = entry->next;
  if (head_ == nullptr) tail_ = nullptr;
  return entry;
}

void Rendezvous::post(ib::Endpoint& endpoint) {
  while (!waiting_.empty() && posted_ + kWqesEach <= kSendWqes) {
    TagEntry& entry = *waiting_.pop();
    ib::SendSlot read = endpoint.reserve();
    fill_read(read, entry);
    commit(endpoint, read);
    ib::SendSlot fin = endpoint.reserve();
    fill_fin(fin, entry);
    commit(endpoint, fin);
    reading_.push(entry);
    posted_ += kWqesEach;
  }
}

TagEntry* Rendezvous::ended(ib::SendOp op) {
  --posted_;
  return op == ib::SendOp::read ? reading_.pop() : nullptr;
}

TagEntry* Rendezvous::forget() {
  posted_ = 0;
  TagEntry* const entry = reading_.pop();
  return entry != nullptr ? entry : waiting_.pop();
}

}  // namespace softrnic::rnic
