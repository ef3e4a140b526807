// Requests for a port before its program listens there.
//
// Programs agree by other means that the server is ready, and some of them do so before they call
// rdma_listen: the request then races with the listener, and wins when the server loses the processor.
// InfiniBand's address resolution hides that; here requests take microseconds. So a request waits a moment
// when the program behind the port lives and may still listen: an id is bound to the port, or has a
// connection that came through it, in whichever port space (perftest connects in one and tests in the other).
// A port that nobody has is refused at once.
#include <algorithm>
#include <iterator>

#include "cma/manager.h"

namespace softrnic::cma {
namespace {

constexpr Duration kPatience = std::chrono::milliseconds(200);
constexpr std::size_t kMostEarlyRequests = 256;

std::uint16_t port_of(const cm::Event& event) { return static_cast<std::uint16_t>(event.service_id.value); }

}  // namespace

Expected<void, Failure> Manager::attend(Id& id, std::uint16_t port) {
  if (id.attends) return {};
  Attended& attended = attended_[port];
  if (attended.ids.empty()) {
    for (std::size_t i = 0; i < kPortSpaces.size(); ++i) {
      const auto listener = cm_.listen(cm::ServiceId(service_id_of(kPortSpaces[i], port)));
      if (!listener) {
        withdraw(port);
        return Unexpected{listener.error()};
      }
      attended.listeners[i] = *listener;
    }
  }
  attended.ids.insert(id.number);
  id.attends = port;
  return {};
}

void Manager::unattend(Id& id) {
  if (!id.attends) return;
  const std::uint16_t port = *id.attends;
  id.attends.reset();
  Attended& attended = attended_.at(port);
  attended.ids.erase(id.number);
  if (!early_.empty() && !may_be_heard(port))
    refuse_early([port](const EarlyRequest& early) { return port_of(early.event) == port; });
  if (attended.ids.empty()) withdraw(port);
}

void Manager::withdraw(std::uint16_t port) {
  for (const cm::Id listener : attended_.at(port).listeners)
    if (listener.value != 0) cm_.unlisten(listener);
  attended_.erase(port);
}

bool Manager::may_be_heard(std::uint16_t port) const {
  const auto it = attended_.find(port);
  if (it == attended_.end()) return false;
  return std::any_of(it->second.ids.begin(), it->second.ids.end(), [this](IdNumber number) {
    const Id* id = find(number);
    return id != nullptr && (id->state == State::address_bound || !id->port);
  });
}

bool Manager::keep_early(const cm::Event& event) {
  if (!may_be_heard(port_of(event))) return false;
  if (early_.size() >= kMostEarlyRequests) {
    const EarlyRequest oldest = std::move(early_.front());
    early_.pop_front();
    refuse_unheard(oldest.event);
  }
  EarlyRequest& early = early_.emplace_back();
  early.data.assign(event.private_data.begin(), event.private_data.end());
  early.event = event;
  early.event.private_data = early.data;
  early.until = host_.now() + kPatience;
  return true;
}

std::deque<Manager::EarlyRequest> Manager::take_early(
    const std::function<bool(const EarlyRequest&)>& chosen) {
  const auto first = std::stable_partition(early_.begin(), early_.end(), std::not_fn(chosen));
  std::deque<EarlyRequest> taken(std::make_move_iterator(first), std::make_move_iterator(early_.end()));
  early_.erase(first, early_.end());
  return taken;
}

void Manager::refuse_early(const std::function<bool(const EarlyRequest&)>& chosen) {
  for (const EarlyRequest& early : take_early(chosen)) refuse_unheard(early.event);
}

void Manager::hear_early() {
  const auto heard = [this](const EarlyRequest& early) { return match_listener(early.event) != nullptr; };
  for (const EarlyRequest& early : take_early(heard)) request_came(early.event);
}

void Manager::forget_early(cm::Id connection) {
  for (const EarlyRequest& early :
       take_early([&](const EarlyRequest& e) { return e.event.id == connection; }))
    cm_.destroy(early.event.id, host_.now());
}

}  // namespace softrnic::cma
