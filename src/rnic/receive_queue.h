// A ring of receive work requests with their SGEs. Memory is touched as it is used.
#pragma once

#include <infiniband/verbs.h>

#include <array>
#include <cstdint>
#include <span>

#include "base/queue_memory.h"
#include "rnic/limits.h"
#include "transport/ib/types.h"

namespace softrnic::rnic {

/// Not thread-safe. Holds at most max_wrs() requests of at most max_sges() elements.
class ReceiveQueue {
 public:
  struct Slot {
    std::uint64_t wr_id = 0;
    std::uint64_t length = 0;  ///< sum of the SGEs
    std::span<const ib::Sge> sges;
  };

  /// Where its memory comes from, and as what.
  struct Memory {
    MemorySource* source = nullptr;
    QueueKind kind = QueueKind::receive;
  };

  /// False when there is no memory.
  bool allocate(std::uint32_t wrs, std::uint32_t sges, Memory memory);
  /// What is posted here goes to `other`, which is empty, with room for as many of as many elements.
  void move_to(ReceiveQueue& other);

  std::uint32_t max_wrs() const { return max_wrs_; }
  std::uint32_t max_sges() const { return max_sges_; }
  std::uint32_t size() const { return size_; }
  bool full() const { return size_ == max_wrs_; }

  /// Not when full(); `wr.num_sge` is at most max_sges().
  void push(const ibv_recv_wr& wr);
  /// The oldest one; not when size() is 0. Good until the next push().
  Slot front() const;
  void pop();
  void clear();

 private:
  struct Header {
    std::uint64_t wr_id;
    std::uint64_t length;
    std::uint32_t sge_count;
  };
  std::uint32_t max_wrs_ = 0;
  std::uint32_t max_sges_ = 0;
  std::uint32_t head_ = 0;
  std::uint32_t size_ = 0;
  QueueMemory memory_;
  Header* headers_ = nullptr;
  ib::Sge* sges_ = nullptr;
};

/// A receive taken off a queue, with its elements copied out of the ring; or a tagged buffer in its place.
struct TakenReceive {
  ib::RecvWqe wqe;
  std::array<ib::Sge, limits::kMaxSges> sges;

  void take_from(ReceiveQueue& queue);
};

}  // namespace softrnic::rnic
