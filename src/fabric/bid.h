// A bid: the packet at the head of an input buffer wants to leave through an output port by a VL. A multicast
// packet bids at each of its ports.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "base/time.h"

namespace softrnic::fabric {

struct InputBuffer;
struct EnginePort;

struct Bid {
  InputBuffer* from = nullptr;
  EnginePort* output = nullptr;
  Bid* next = nullptr;  ///< in the queue of the output's VL
  Bid* previous = nullptr;
  Bid* sibling = nullptr;  ///< the next bid of the same packet
  TimePoint deadline = kNever;
  std::uint8_t vl = 0;  ///< by which the packet leaves
};

/// The bids for one VL of an output port. A buffer that has been served bids anew at the end, so buffers take
/// turns.
class BidQueue {
 public:
  Bid* front() const { return front_; }
  bool empty() const { return front_ == nullptr; }
  void push_back(Bid* bid) {
    bid->previous = back_;
    bid->next = nullptr;
    (back_ == nullptr ? front_ : back_->next) = bid;
    back_ = bid;
  }
  void push_front(Bid* bid) {
    bid->previous = nullptr;
    bid->next = front_;
    (front_ == nullptr ? back_ : front_->previous) = bid;
    front_ = bid;
  }
  void remove(Bid* bid) {
    (bid->previous == nullptr ? front_ : bid->previous->next) = bid->next;
    (bid->next == nullptr ? back_ : bid->next->previous) = bid->previous;
  }

 private:
  Bid* front_ = nullptr;
  Bid* back_ = nullptr;
};

/// There are at most as many as a node has input buffers times ports.
class BidPool {
 public:
  Bid* take() {
    if (free_ == nullptr) grow();
    return std::exchange(free_, free_->next);
  }
  void release(Bid* bid) { bid->next = std::exchange(free_, bid); }

 private:
  static constexpr std::size_t kBidsAChunk = 256;
  void grow() {
    chunks_.push_back(std::make_unique<Bid[]>(kBidsAChunk));
    for (std::size_t i = 0; i < kBidsAChunk; ++i) release(&chunks_.back()[i]);
  }

  Bid* free_ = nullptr;
  std::vector<std::unique_ptr<Bid[]>> chunks_;
};

}  // namespace softrnic::fabric
