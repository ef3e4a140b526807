// The deadlines of a lane's queue pairs: a heap that is lazy about what moved back.
//
// Queue pairs change their deadline with almost every packet, nearly always to a later one. Such a
// change costs nothing here: the old entry stays, and when it comes up the queue pair is asked again.
// Only an earlier deadline moves.
#pragma once

#include <cstddef>
#include <vector>

#include "transport/ib/endpoint.h"

namespace softrnic::engine {

/// `Qp` has hook() (rnic::SchedulerHook) and deadline(), as rnic::QueuePair does.
template <typename Qp>
class Deadlines {
 public:
  /// Makes room for so many queue pairs: update() then needs no memory.
  void reserve(std::size_t qps) {
    if (heap_.capacity() < qps) heap_.reserve(2 * qps);
  }
  /// Takes note of qp.deadline(). To be called whenever it may have moved to an earlier time.
  void update(Qp& qp);
  void remove(Qp& qp);

  /// When pop_due() wants to be called, or kNever. May be too early, never too late.
  TimePoint earliest() const { return heap_.empty() ? kNever : heap_.front().when; }
  /// Takes out a queue pair whose deadline has come, or nullptr when there is none (left). Call
  /// update() for it after expire().
  Qp* pop_due(TimePoint now);
  /// Why this state cannot be; nullptr: it can. Looks at everything.
  const char* broken_invariant() const;

 private:
  struct Entry {
    TimePoint when;
    Qp* qp;
  };

  void place(std::size_t at, const Entry& entry);
  void sift_up(std::size_t at);
  void sift_down(std::size_t at);
  void remove_at(std::size_t at);

  std::vector<Entry> heap_;
};

template <typename Qp>
void Deadlines<Qp>::place(std::size_t at, const Entry& entry) {
  heap_[at] = entry;
  entry.qp->hook().heap_place = at + 1;
}

template <typename Qp>
void Deadlines<Qp>::sift_up(std::size_t at) {
  const Entry moving = heap_[at];
  while (at > 0) {
    const std::size_t parent = (at - 1) / 2;
    if (heap_[parent].when <= moving.when) break;
    place(at, heap_[parent]);
    at = parent;
  }
  place(at, moving);
}

template <typename Qp>
void Deadlines<Qp>::sift_down(std::size_t at) {
  const Entry moving = heap_[at];
  for (;;) {
    std::size_t child = 2 * at + 1;
    if (child >= heap_.size()) break;
    if (child + 1 < heap_.size() && heap_[child + 1].when < heap_[child].when) ++child;
    if (moving.when <= heap_[child].when) break;
    place(at, heap_[child]);
    at = child;
  }
  place(at, moving);
}

template <typename Qp>
void Deadlines<Qp>::update(Qp& qp) {
  const TimePoint when = qp.deadline();
  if (when == kNever) return;
  if (qp.hook().heap_place == 0) {
    heap_.push_back({when, &qp});
    sift_up(heap_.size() - 1);
    return;
  }
  const std::size_t at = qp.hook().heap_place - 1;
  if (when >= heap_[at].when) return;
  heap_[at].when = when;
  sift_up(at);
}

template <typename Qp>
void Deadlines<Qp>::remove_at(std::size_t at) {
  heap_[at].qp->hook().heap_place = 0;
  const Entry last = heap_.back();
  heap_.pop_back();
  if (at == heap_.size()) return;
  place(at, last);
  sift_up(at);
  sift_down(last.qp->hook().heap_place - 1);
}

template <typename Qp>
void Deadlines<Qp>::remove(Qp& qp) {
  if (qp.hook().heap_place != 0) remove_at(qp.hook().heap_place - 1);
}

template <typename Qp>
const char* Deadlines<Qp>::broken_invariant() const {
  for (std::size_t at = 0; at < heap_.size(); ++at) {
    if (heap_[at].qp->hook().heap_place != at + 1) return "a queue pair does not know its place in the heap";
    if (heap_[(at - (at != 0)) / 2].when > heap_[at].when) return "the heap is not one";
    if (heap_[at].qp->deadline() < heap_[at].when) return "a deadline comes before its entry";
  }
  return nullptr;
}

template <typename Qp>
Qp* Deadlines<Qp>::pop_due(TimePoint now) {
  while (!heap_.empty() && heap_.front().when <= now) {
    Qp& qp = *heap_.front().qp;
    const TimePoint when = qp.deadline();
    if (when <= now) {
      remove_at(0);
      return &qp;
    }
    if (when == kNever) {
      remove_at(0);
    } else {
      heap_.front().when = when;
      sift_down(0);
    }
  }
  return nullptr;
}

}  // namespace softrnic::engine
