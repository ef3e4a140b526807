// A ring of receive work requests with their SGEs. Memory is touched as it is used.
#pragma once

#include <infiniband/verbs.h>

#include <array>
#include <cstdint>
#include <memory>
#include <span>

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

  /// False when there is no memory.
  bool allocate(std::uint32_t wrs, std::uint32_t sges);
  /// Another number of requests; those that are posted stay. False: no memory, or more are posted.
  bool resize(std::uint32_t wrs);

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
  struct Free {
    void operator()(void* memory) const;
  };

  std::uint32_t max_wrs_ = 0;
  std::uint32_t max_sges_ = 0;
  std::uint32_t head_ = 0;
  std::uint32_t size_ = 0;
  std::unique_ptr<Header[], Free> headers_;
  std::unique_ptr<ib::Sge[], Free> sges_;
};

/// A receive taken off a queue, with its elements copied out of the ring.
struct TakenReceive {
  ib::RecvWqe wqe;
  std::array<ib::Sge, limits::kMaxSges> sges;

  void take_from(ReceiveQueue& queue);
};

}  // namespace softrnic::rnic
