// What will happen when; of equal times, what was told first.
#pragma once

#include <algorithm>
#include <vector>

#include "base/time.h"
#include "fabric/packet.h"
#include "wire/flow_control_packet.h"

namespace softrnic::fabric {

struct EnginePort;

enum class EventKind : std::uint8_t {
  arrival,               ///< a packet is in the port whole
  flow_control_arrival,  ///< a flow control packet
  idle,                  ///< the port has sent its packet
  flow_control_refresh,  ///< what the peer did not hear is said again
  lifetimes,             ///< bids may have waited too long
};

struct Event {
  TimePoint time{};
  std::uint64_t order = 0;
  EnginePort* port = nullptr;
  Packet* packet = nullptr;  ///< arrival
  std::uint32_t epoch = 0;   ///< of the link: what was under way when it went down does not arrive
  wire::FlowControlPacket flow_control{};  ///< flow_control_arrival
  EventKind kind{};
};

class EventQueue {
 public:
  bool empty() const { return heap_.empty(); }
  TimePoint next_time() const { return heap_.empty() ? kNever : heap_.front().time; }
  void push(Event event) {
    event.order = order_++;
    heap_.push_back(event);
    std::push_heap(heap_.begin(), heap_.end(), later);
  }
  Event pop() {
    std::pop_heap(heap_.begin(), heap_.end(), later);
    const Event event = heap_.back();
    heap_.pop_back();
    return event;
  }

 private:
  static bool later(const Event& a, const Event& b) {
    return a.time != b.time ? a.time > b.time : a.order > b.order;
  }

  std::vector<Event> heap_;
  std::uint64_t order_ = 0;
};

}  // namespace softrnic::fabric
