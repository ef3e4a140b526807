// The work requests of an RC send queue on the line of PSNs, and how far their packets are: what TCP calls
// the send sequence space (RFC 9293, 3.3.1).
//
//      una             next             top       assigned
//   ────┼────────────────┼────────────────┼──────────┼─────▶ PSN
//    answered │ in flight │ to be re-sent │     new
//
// una       oldest PSN not yet acknowledged, or READ response expected next; always in the front work request
// next      PSN to be sent next; go_back() sets it to una
// top       one past the highest PSN ever sent
// assigned  first PSN of the next work request that begins
//
// [una, next) is what is charged to the window and what the timer runs for.
#pragma once

#include <algorithm>
#include <cstdint>

#include "transport/ib/psn.h"
#include "transport/ib/send_queue.h"
#include "transport/ib/sge_list.h"

namespace softrnic::ib {

class SendSequence {
 public:
  explicit SendSequence(const Capacity& capacity) : queue_(capacity) {}

  /// Whoever takes the front work request off it says so: answered(), passed_by() or flushed().
  SendQueue& queue() { return queue_; }
  const SendQueue& queue() const { return queue_; }

  void start(std::uint32_t psn) { una_ = next_ = top_ = assigned_ = Psn::first(psn); }
  /// Everything in the queue was completed; what of it had not been sent will not be.
  void flushed();
  /// Forgets everything.
  void reset();
  /// The next free place of the queue, which starts over at its first slot when it is empty.
  SendSlot reserve();

  // ---- what is where

  Psn una() const { return una_; }
  Psn next() const { return next_; }
  Psn top() const { return top_; }
  bool in_flight() const { return una_ < next_; }
  bool awaits_answers() const { return una_ < top_; }
  /// What is sent next was never sent before.
  bool next_is_new() const { return next_ == top_; }
  /// Nothing that has begun is left to be answered or sent.
  bool at_rest() const { return !any_begun() && una_ == top_; }

  bool any_begun() const { return begun_ != queue_.head(); }
  bool has_unsent() const { return cursor_ != queue_.tail(); }
  /// The work request to be sent next, if has_unsent(); whether it has no PSNs yet, and whether nothing is
  /// before it.
  SendEntry& current() { return queue_.at(cursor_); }
  bool current_is_fresh() const { return cursor_ == begun_; }
  bool current_is_front() const { return cursor_ == queue_.head(); }

  // ---- what happens

  /// The current work request, which is fresh, takes the next `packets` PSNs; see SendEntry::chunk.
  void begin(SendEntry& current, std::uint32_t packets, std::uint32_t chunk);
  /// The packets [next, stop) of the current work request leave.
  void sent(const SendEntry& current, Psn stop);
  /// The packets [una, end) of the front work request have been answered. True: it is done, and to be
  /// completed.
  bool answered(const SendEntry& front, Psn end);
  /// The front work request, which is fresh, is done without any packet, and to be completed.
  void passed_by();
  /// All from una on is to be sent again.
  void go_back();

  /// Where in their lists of SGEs the current work request was read to, and the front one written.
  SgeCursor& gather_cursor() { return gather_cursor_; }
  SgeCursor& scatter_cursor() { return scatter_cursor_; }

  /// For tests: what of its promises to itself does not hold between two calls; nullptr: all does. `whole`:
  /// no work request has failed, which leaves the marks where they were.
  const char* broken_invariant(bool whole) const;
  /// Calls `f(entry, from, stop)` for each work request that is in flight, with its packets that are.
  template <typename F>
  void for_each_in_flight(F f) const;

 private:
  void next_work_request() {
    ++cursor_;
    gather_cursor_ = {};
  }
  const char* broken_queue() const;

  SendQueue queue_;
  SendQueue::Index cursor_ = 0;  ///< work request that contains next_
  SendQueue::Index begun_ = 0;   ///< first work request without PSNs
  Psn una_, next_, top_, assigned_;
  SgeCursor gather_cursor_;
  SgeCursor scatter_cursor_;
};

// What each work request, packet or answer goes through is inline.

inline SendSlot SendSequence::reserve() {
  if (queue_.empty()) {
    queue_.clear();
    cursor_ = begun_ = 0;
    gather_cursor_ = {};
  }
  return queue_.reserve();
}

inline void SendSequence::begin(SendEntry& current, std::uint32_t packets, std::uint32_t chunk) {
  current.first = assigned_;
  current.end = assigned_ + packets;
  current.chunk = chunk;
  assigned_ = current.end;
  ++begun_;
}

inline void SendSequence::sent(const SendEntry& current, Psn stop) {
  const Psn end = current.end;
  next_ = stop;
  if (top_ < stop) top_ = stop;
  if (stop == end) next_work_request();
}

inline bool SendSequence::answered(const SendEntry& front, Psn end) {
  const bool done = end == front.end;
  una_ = end;
  if (next_ < end) next_ = end;
  if (!done) return false;
  if (current_is_front()) next_work_request();
  scatter_cursor_ = {};
  return true;
}

inline void SendSequence::passed_by() {
  ++begun_;
  next_work_request();
}

inline void SendSequence::go_back() {
  next_ = una_;
  cursor_ = queue_.head();
  gather_cursor_ = {};
}

template <typename F>
void SendSequence::for_each_in_flight(F f) const {
  for (SendQueue::Index i = queue_.head(); i != begun_ && queue_.at(i).first < next_; ++i) {
    const SendEntry& entry = queue_.at(i);
    f(entry, std::max(entry.first, una_), std::min(entry.end, next_));
  }
}

}  // namespace softrnic::ib
