// The deadlines of a lane's endpoints: a heap that is lazy about what moved back.
//
// Endpoints change their deadline with almost every packet, nearly always to a later one. Such a change costs nothing
// here: the old entry stays, and when it comes up the endpoint is asked again. Only an earlier deadline moves.
#pragma once

#include <vector>

#include "transport/ib/endpoint.h"

namespace softrnic::engine {

class Deadlines {
 public:
  /// Takes note of endpoint.deadline(). To be called whenever it may have moved to an earlier time.
  void update(ib::Endpoint& endpoint);
  void remove(ib::Endpoint& endpoint);

  /// When pop_due() wants to be called, or kNever. May be too early, never too late.
  TimePoint earliest() const { return heap_.empty() ? kNever : heap_.front().when; }
  /// Takes out an endpoint whose deadline has come, or nullptr when there is none (left). Call update() for it after
  /// expire().
  ib::Endpoint* pop_due(TimePoint now);

 private:
  struct Entry {
    TimePoint when;
    ib::Endpoint* endpoint;
  };

  // hook.timer of an endpoint is its place in the heap plus one; 0: not in the heap.
  void place(std::size_t at, const Entry& entry);
  void sift_up(std::size_t at);
  void sift_down(std::size_t at);
  void remove_at(std::size_t at);

  std::vector<Entry> heap_;
};

}  // namespace softrnic::engine
