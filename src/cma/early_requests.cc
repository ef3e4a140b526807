#include "cma/early_requests.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace softrnic::cma {

std::optional<EarlyRequests::Request> EarlyRequests::keep(const cm::Event& event, TimePoint now) {
  std::optional<Request> oldest;
  if (requests_.size() >= kMost) {
    oldest = std::move(requests_.front());
    requests_.pop_front();
  }
  Request& kept = requests_.emplace_back();
  kept.data.assign(event.private_data.begin(), event.private_data.end());
  kept.event = event;
  kept.event.private_data = kept.data;
  kept.until = now + kPatience;
  return oldest;
}

std::deque<EarlyRequests::Request> EarlyRequests::take(const Chosen& chosen) {
  const auto first = std::stable_partition(requests_.begin(), requests_.end(), std::not_fn(chosen));
  std::deque<Request> taken(std::make_move_iterator(first), std::make_move_iterator(requests_.end()));
  requests_.erase(first, requests_.end());
  return taken;
}

}  // namespace softrnic::cma
