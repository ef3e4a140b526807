// The send queue: a ring of work requests, each followed by room for its SGEs or its inline bytes.
//
// The ring is there from the beginning, and not written before use, so that a deep queue costs memory only as
// far as it is used; it starts over at its first slot whenever it is empty. Work requests are named by a
// running number (`Index`).
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "transport/ib/psn.h"
#include "transport/ib/send_slot.h"

namespace softrnic::ib {

/// A work request and what the requester notes about it.
struct SendEntry {
  SendWqe wqe;
  Psn first;                ///< PSN of its first packet; valid once it has begun
  Psn end;                  ///< one past its last
  std::uint32_t chunk = 0;  ///< READ: response packets that one request asks for
};

class SendQueue {
 public:
  using Index = std::uint32_t;

  explicit SendQueue(const Capacity& capacity);

  /// The next free slot, cleared; its wqe is nullptr when the queue is full.
  SendSlot reserve();
  void commit() { ++tail_; }

  SendEntry& at(Index index) { return *entry(index); }
  const SendEntry& at(Index index) const { return *entry(index); }
  SendEntry& front() { return *entry(head_); }
  void pop() { ++head_; }
  void clear() { head_ = tail_ = 0; }

  Index head() const { return head_; }
  Index tail() const { return tail_; }
  bool empty() const { return head_ == tail_; }
  std::uint32_t size() const { return tail_ - head_; }

  /// The SGEs of an entry; empty when it is inline.
  std::span<const Sge> sges(const SendEntry& e) const {
    return {reinterpret_cast<const Sge*>(&e + 1), e.wqe.is_inline ? 0U : e.wqe.sge_count};
  }
  const std::byte* inline_data(const SendEntry& e) const {
    return reinterpret_cast<const std::byte*>(&e + 1);
  }

  /// That of a TSO.
  Bytes header(const SendEntry& e) const {
    return {reinterpret_cast<const std::byte*>(&e + 1) + header_at(), e.wqe.header_bytes};
  }

  std::size_t heap_bytes() const { return stride_ * (std::size_t{mask_} + 1); }

 private:
  std::size_t header_at() const { return stride_ - sizeof(SendEntry) - header_bytes_; }
  SendEntry* entry(Index index) const {
    return reinterpret_cast<SendEntry*>(ring_ + std::size_t{index & mask_} * stride_);
  }

  struct Layout {
    explicit Layout(const Capacity& capacity);
    std::size_t bytes() const { return stride * (std::size_t{mask} + 1); }
    std::uint32_t limit;
    std::uint32_t mask;
    std::size_t stride;
  };
  friend std::size_t send_queue_bytes(const Capacity& capacity);

  std::unique_ptr<std::byte[]> own_;
  std::byte* ring_;
  std::size_t stride_;
  std::uint32_t limit_;
  std::uint32_t mask_;
  std::uint32_t inline_bytes_;
  std::uint16_t sge_limit_;
  std::uint16_t header_bytes_;
  Index head_ = 0;
  Index tail_ = 0;
};

}  // namespace softrnic::ib
