// Polling of a completion queue by ibv_start_poll, ibv_next_poll and ibv_end_poll (ibv_create_cq_ex(3)).
//
// Completions are taken from the queue some at a time, so that most steps cost no lock. Those that the
// program has not come to when it ends go back to where they were.
#pragma once

#include <infiniband/verbs.h>

#include <array>
#include <cstdint>

#include "base/quick_mutex.h"
#include "rnic/completion_ring.h"

namespace softrnic::rnic {

class CompletionQueue;

/// From a start() that succeeds to end() it belongs to one thread; others wait in start(), unless the
/// queue was made for one thread.
class ExtendedPoll {
 public:
  ExtendedPoll(CompletionQueue& cq, bool single_threaded) : cq_(cq), locks_(!single_threaded) {}

  /// ibv_start_poll. 0: there is a current completion; ENOENT: none; EIO: an overrun has broken the queue,
  /// and what lay there has been taken. Only after 0 comes end().
  int start();
  /// ibv_next_poll: as start(), and end() has to follow in any case.
  int next();
  /// ibv_end_poll.
  void end();

  /// What is read of the current completion.
  const ibv_wc& current() const { return taken_[at_]; }
  /// When it came: CLOCK_MONOTONIC in nanoseconds; 0 where the queue keeps no times.
  std::uint64_t time() const { return times_[at_]; }

 private:
  static constexpr std::uint32_t kBatch = CompletionRing::kRoomForReturned;

  int advance();

  CompletionQueue& cq_;
  const bool locks_;
  QuickMutex mutex_;
  std::uint32_t at_ = 0;  ///< the current one
  std::uint32_t end_ = 0;
  std::array<ibv_wc, kBatch> taken_{};
  std::array<std::uint64_t, kBatch> times_{};
};

}  // namespace softrnic::rnic
