// Packets of UC and UD that came before their receive was posted ("unexpected messages" in MPI and
// libfabric): they wait for it, in their order, as in the buffers of an adapter. Packets of other queue
// pairs do not wait with them.
//
// Whoever can reach a queue pair can make packets wait, so what waits has bounds:
//
//   memory   all that waits fits into `capacity`. A queue pair may have as much as is left for the others
//            (dynamic
//            thresholds, Choudhury and Hahne 1998, as switches share their buffers)
//   time     kPatience; a queue pair that got no receive in that time drops what comes until it gets one
//   work     look_again() does kMostSteps steps
//
// Senders that can be told are told when much of theirs waits: see throttles().
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <utility>
#include <vector>

#include "base/expected.h"
#include "base/reason.h"
#include "base/time.h"
#include "transport/ib/rx_packet.h"
#include "transport/ib/types.h"

namespace softrnic::engine {

/// What waits for the receives of one queue pair.
class UnexpectedQueue {
 private:
  friend class UnexpectedBounds;
  template <typename Queue>
  friend class UnexpectedPacketsOf;
  struct Packet {
    ib::RxPacket rx;  ///< its payload is here:
    std::unique_ptr<std::byte[]> payload;
    std::size_t bytes = 0;  ///< of memory
    std::uint16_t sender = 0;
  };

  std::list<Packet> packets_;
  std::size_t bytes_ = 0;
  TimePoint since_ = kNever;  ///< when a packet first found no receive
};

/// The bounds of what waits, and what there is of it. Not thread-safe: the lane's lock guards it.
class UnexpectedBounds {
 public:
  /// As long as a program may be off the processor on a busy machine.
  static constexpr Duration kPatience = std::chrono::milliseconds(100);
  /// Of look_again(): a packet that is handed over, or a queue pair that is looked at in vain.
  static constexpr std::size_t kMostSteps = 64;
  /// Who sent a packet: a number below kSenders. Senders that share one are throttled together.
  static constexpr std::size_t kSenders = 512;

  /// A receive of the queue pair was used: the next packet that finds none may wait again.
  void fed(UnexpectedQueue& queue);
  /// Whether some queue pair found no receive since the last one was used.
  bool any_starving() const { return starving_ != 0; }
  std::size_t bytes() const { return bytes_; }
  bool any() const { return bytes_ != 0; }
  /// Whether this sender is to send no more UC and UD for the present: much waits, and
  /// some of that is from it.
  bool throttles(std::uint16_t sender) const { return bytes_ > capacity_ / kMuch && held_of_[sender] != 0; }

 protected:
  using Packets = std::list<UnexpectedQueue::Packet>;

  explicit UnexpectedBounds(std::size_t capacity) : capacity_(capacity) {}
  ~UnexpectedBounds() = default;

  bool may_wait(UnexpectedQueue& queue, TimePoint now);
  /// A packet as it may wait, by itself. A reason: it may not.
  Expected<Packets, Reason> copy_of(const UnexpectedQueue& queue, const ib::RxPacket& packet,
                                    std::uint16_t sender) const;
  /// That is the last one from now on.
  void append(UnexpectedQueue& queue, Packets& copied);
  Packets take_first(UnexpectedQueue& queue);

 private:
  static constexpr std::size_t kMuch = 4;  ///< this part of the capacity is much
  /// What a packet takes beside its payload: the allocator's headers, and the links of the list.
  static constexpr std::size_t kOverhead = sizeof(UnexpectedQueue::Packet) + 64;

  const std::size_t capacity_;
  std::size_t bytes_ = 0;
  std::size_t starving_ = 0;
  std::array<std::uint32_t, kSenders> held_of_{};  ///< packets by sender
};

/// Those of a lane, whose queues are `Queue`, which is an UnexpectedQueue. Memory that cannot be had throws
/// std::bad_alloc, and nothing has changed then.
template <typename Queue>
class UnexpectedPacketsOf : public UnexpectedBounds {
 public:
  /// `capacity`: bytes of memory.
  explicit UnexpectedPacketsOf(std::size_t capacity) : UnexpectedBounds(capacity) {}

  /// Whether a packet is to be handed over at once: nothing waits before it, and it has its
  /// receive or may not wait for it.
  template <typename LacksReceive>
  bool is_expected(Queue& queue, TimePoint now, LacksReceive&& lacks_receive) {
    return queue.packets_.empty() && (!lacks_receive() || !may_wait(queue, now));
  }
  /// Keeps a packet that is not expected. A reason: it is lost.
  Expected<void, Reason> keep(Queue& queue, const ib::RxPacket& packet, std::uint16_t sender);
  /// Hands over, by hand_over(queue, packet), what has its receive now or has waited too long, unless
  /// lacks_receive(queue, packet). True: there is more to be done at once.
  template <typename LacksReceive, typename HandOver>
  bool look_again(TimePoint now, LacksReceive&& lacks_receive, HandOver&& hand_over);
  /// Drops all that waits: the queue pair goes away, or begins anew.
  void forget(Queue& queue);

 private:
  void remove_from_turn() {
    queues_[turn_] = queues_.back();
    queues_.pop_back();
  }

  std::vector<Queue*> queues_;  ///< that have packets, in no order
  std::size_t turn_ = 0;        ///< whose it is
};

template <typename Queue>
Expected<void, Reason> UnexpectedPacketsOf<Queue>::keep(Queue& queue, const ib::RxPacket& packet,
                                                        std::uint16_t sender) {
  auto copied = copy_of(queue, packet, sender);
  if (!copied) return Unexpected{copied.error()};
  if (queue.packets_.empty()) queues_.push_back(&queue);
  append(queue, *copied);
  return {};
}

template <typename Queue>
void UnexpectedPacketsOf<Queue>::forget(Queue& queue) {
  fed(queue);
  if (queue.packets_.empty()) return;
  while (!queue.packets_.empty()) take_first(queue);
  std::erase(queues_, &queue);
}

template <typename Queue>
template <typename LacksReceive, typename HandOver>
bool UnexpectedPacketsOf<Queue>::look_again(TimePoint now, LacksReceive&& lacks_receive,
                                            HandOver&& hand_over) {
  std::size_t looks = queues_.size();
  bool fruitful = false;
  for (std::size_t steps = 0; looks != 0 && steps < kMostSteps; ++steps) {
    if (turn_ >= queues_.size()) turn_ = 0;
    Queue& queue = *queues_[turn_];
    if (lacks_receive(queue, queue.packets_.front().rx) && may_wait(queue, now)) {
      ++turn_;
      --looks;
      continue;
    }
    const auto first = take_first(queue);
    if (queue.packets_.empty()) {
      remove_from_turn();
      --looks;
    }
    hand_over(queue, first.front().rx);
    fruitful = true;
  }
  return fruitful && looks != 0;
}

/// Whose queues are all that their owner looks for.
using UnexpectedPackets = UnexpectedPacketsOf<UnexpectedQueue>;

}  // namespace softrnic::engine
