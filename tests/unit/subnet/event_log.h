// The events of a manager, kept for a test.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "subnet/events.h"

namespace softrnic::subnet::testing {

struct EventLog : EventSink {
  void notify(const Event& event) override { events.push_back(event); }
  template <typename E>
  std::size_t count() const {
    return static_cast<std::size_t>(
        std::ranges::count_if(events, [](const Event& e) { return std::holds_alternative<E>(e); }));
  }
  template <typename E>
  const E* last() const {
    for (auto at = events.rbegin(); at != events.rend(); ++at)
      if (const E* e = std::get_if<E>(&*at)) return e;
    return nullptr;
  }
  std::string text() const {
    std::string all;
    for (const Event& event : events) all += to_string(event) + "\n";
    return all;
  }
  std::vector<Event> events;
};

}  // namespace softrnic::subnet::testing
