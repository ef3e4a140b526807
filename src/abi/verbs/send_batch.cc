#include "abi/verbs/send_batch.h"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>

#include "abi/calls.h"
#include "base/hot_path.h"
#include "base/reason_id.h"
#include "rnic/limits.h"
#include "rnic/refusal.h"
#include "rnic/work_requests.h"

namespace softrnic::abi {

void SendBatch::Free::operator()(void* memory) const { std::free(memory); }

template <typename T>
bool SendBatch::has_room(Room<T>& room, std::size_t each) {
  if (room != nullptr) return true;
  const std::size_t bytes = cap_.max_send_wr * each * sizeof(T);
  room.reset(static_cast<T*>(std::malloc(bytes)));
  if (room == nullptr) fail(refuse(ENOMEM, ReasonId::out_of_memory, bytes));
  return room != nullptr;
}

void SendBatch::start() {
  if (locks_) mutex_.lock();
  count_ = 0;
  failure_.reset();
}

SOFTRNIC_HOT_PATH int SendBatch::complete() {
  const int result = errno_call([&]() -> Expected<void, Failure> {
    if (failure_) return rnic::refused(*failure_, {.qpn = qp_.qpn().value});
    if (count_ == 0) return {};
    return qp_.post_batch(&entries_[0].wr);
  });
  if (locks_) mutex_.unlock();
  return result;
}

void SendBatch::fail(const Failure& failure) {
  if (!failure_) failure_ = failure;
}

SOFTRNIC_HOT_PATH ibv_send_wr* SendBatch::begin(ibv_wr_opcode opcode, std::uint64_t wr_id, unsigned flags) {
  if ((operations_ & rnic::operation_bit(opcode)) == 0) {
    fail(refuse(EINVAL, ReasonId::wr_operation_not_requested, opcode, operations_));
    return nullptr;
  }
  if (count_ == cap_.max_send_wr) {
    fail(refuse(ENOMEM, ReasonId::send_queue_full, count_));
    return nullptr;
  }
  if (!has_room(entries_, 1)) return nullptr;
  ibv_send_wr& wr = entries_[count_].wr;
  wr = {};
  wr.wr_id = wr_id;
  wr.opcode = opcode;
  wr.send_flags = flags & ~static_cast<unsigned>(IBV_SEND_INLINE);
  if (count_ != 0) entries_[count_ - 1].wr.next = &wr;
  ++count_;
  return &wr;
}

ibv_send_wr* SendBatch::last() {
  if (count_ != 0) return &entries_[count_ - 1].wr;
  fail(refuse(EINVAL, ReasonId::wr_setter_first));
  return nullptr;
}

SendBatch::Entry* SendBatch::payload_of_last() {
  ibv_send_wr* const wr = last();
  if (wr == nullptr) return nullptr;
  wr->send_flags &= ~static_cast<unsigned>(IBV_SEND_INLINE);
  return &entries_[count_ - 1];
}

SOFTRNIC_HOT_PATH void SendBatch::set_sge(const ibv_sge& sge) {
  Entry* const entry = payload_of_last();
  if (entry == nullptr) return;
  entry->sge = sge;
  entry->wr.sg_list = &entry->sge;
  entry->wr.num_sge = 1;
}

// More than the queue pair takes is not copied: post_batch() refuses it by its number alone.
void SendBatch::set_sges(std::span<const ibv_sge> sges) {
  Entry* const entry = payload_of_last();
  if (entry == nullptr) return;
  entry->wr.num_sge = static_cast<int>(std::min<std::size_t>(sges.size(), INT_MAX));
  if (sges.size() > cap_.max_send_sge || !has_room(sges_, cap_.max_send_sge)) return;
  entry->wr.sg_list = sges_.get() + std::size_t{count_ - 1} * cap_.max_send_sge;
  std::copy(sges.begin(), sges.end(), entry->wr.sg_list);
}

// One that is longer than any queue pair takes is refused there as well, by its length.
void SendBatch::set_tso(ibv_send_wr& wr, const void* header, std::uint16_t bytes, std::uint16_t mss) {
  wr.tso.hdr = const_cast<void*>(header);
  wr.tso.hdr_sz = bytes;
  wr.tso.mss = mss;
  if (bytes > rnic::limits::kMaxTsoHeader || !has_room(headers_, rnic::limits::kMaxTsoHeader)) return;
  std::byte* const to = headers_.get() + std::size_t{count_ - 1} * rnic::limits::kMaxTsoHeader;
  if (bytes != 0) std::memcpy(to, header, bytes);
  wr.tso.hdr = to;
}

// What is too long is refused there as well, by its length.
SOFTRNIC_HOT_PATH void SendBatch::set_inline(std::span<const ibv_data_buf> pieces) {
  Entry* const entry = payload_of_last();
  if (entry == nullptr) return;
  std::uint64_t total = 0;
  for (const ibv_data_buf& piece : pieces) total += std::min<std::uint64_t>(piece.length, UINT32_MAX);
  entry->wr.send_flags |= IBV_SEND_INLINE;
  entry->wr.num_sge = 1;
  entry->wr.sg_list = &entry->sge;
  entry->sge = {0, static_cast<std::uint32_t>(std::min<std::uint64_t>(total, UINT32_MAX)), 0};
  if (total == 0 || total > cap_.max_inline_data || !has_room(inlined_, cap_.max_inline_data)) return;
  std::byte* to = inlined_.get() + std::size_t{count_ - 1} * cap_.max_inline_data;
  entry->sge.addr = reinterpret_cast<std::uintptr_t>(to);
  for (const ibv_data_buf& piece : pieces) {
    if (piece.length == 0) continue;
    std::memcpy(to, piece.addr, piece.length);
    to += piece.length;
  }
}

}  // namespace softrnic::abi
