// Links a queue pair into the queues of the lane that it lives on: the scheduler's and that of deadlines. It
// stands in the queue pair, so that neither needs memory of its own, or a search.
#pragma once

#include <cstddef>
#include <cstdint>

namespace softrnic::rnic {

template <typename Qp>
struct SchedulerHook {
  // of the scheduler
  Qp* next = nullptr;
  Qp* previous = nullptr;
  std::uint32_t flags = 0;
  // of the deadlines
  std::size_t heap_place = 0;  ///< in their heap, plus one; 0: not there
};

}  // namespace softrnic::rnic
