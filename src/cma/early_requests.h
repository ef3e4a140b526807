// Requests for a port before its program listens there.
//
// Programs agree by other means that the server is ready, and some of them do so before they call
// rdma_listen: the request then races with the listener, and wins when the server loses the processor.
// InfiniBand's address resolution hides that; here requests take microseconds. So a request waits a
// moment when the program behind the port lives and may still listen (PortListeners). A port that
// nobody has is refused at once.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <optional>
#include <vector>

#include "base/time.h"
#include "cm/event.h"

namespace softrnic::cma {

/// In the order in which they came.
class EarlyRequests {
 public:
  static constexpr Duration kPatience = std::chrono::milliseconds(200);
  static constexpr std::size_t kMost = 256;

  struct Request {
    cm::Event event;
    std::vector<std::byte> data;  ///< the event's private data
    TimePoint until;
  };
  using Chosen = std::function<bool(const Request&)>;

  /// Keeps a request until `now` + kPatience. The oldest one, if that had to make room.
  std::optional<Request> keep(const cm::Event& event, TimePoint now);
  /// Takes out those that are chosen.
  std::deque<Request> take(const Chosen& chosen);
  bool empty() const { return requests_.empty(); }
  /// When the oldest has waited long enough; kNever: there is none.
  TimePoint deadline() const { return requests_.empty() ? kNever : requests_.front().until; }

 private:
  std::deque<Request> requests_;
};

}  // namespace softrnic::cma
