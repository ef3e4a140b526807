// Event channels: what was told and not fetched yet, and how much of each id was fetched.
#include <algorithm>
#include <cerrno>

#include "cma/manager.h"

namespace softrnic::cma {
namespace {

bool is_multicast(const Event& event) { return event.membership != 0; }

/// The id whose events are counted: of a request that is the listener, as the new id is not
/// known to the program yet.
IdNumber counted_for(const Event& event) { return event.listener != 0 ? event.listener : event.id; }

}  // namespace

ChannelNumber Manager::open_channel() {
  while (next_channel_ == 0 || channels_.contains(next_channel_)) ++next_channel_;
  channels_.try_emplace(next_channel_);
  return next_channel_++;
}

Expected<void, Failure> Manager::close_channel(ChannelNumber number) {
  const auto it = channels_.find(number);
  if (it == channels_.end()) return Unexpected{refuse(EINVAL, ReasonId::cma_no_such_channel, number)};
  if (it->second.ids == 0) {
    channels_.erase(it);
    return {};
  }
  host_.explain(because(ReasonId::cma_ids_ended, it->second.ids), {});
  abandon({number});
  return {};
}

void Manager::abandon(const std::set<ChannelNumber>& channels) {
  std::vector<IdNumber> ids;
  for (const auto& [number, id] : ids_)
    if (channels.contains(id->channel)) ids.push_back(number);
  for (const IdNumber id : ids) forget(id);
  for (const ChannelNumber channel : channels) channels_.erase(channel);
}

void Manager::queue(Id& id, Event event) {
  const auto channel = channels_.find(id.channel);
  if (channel == channels_.end() || !id.accepted) return;
  if (event.id == 0) event.id = id.number;
  if (!is_multicast(event)) event.cookie = id.cookie;
  ++id.queued_events;
  channel->second.events.push_back(std::move(event));
  host_.event_queued(id.channel);
}

void Manager::queue_failure(Id& id, rdma_cm_event_type kind, int status, const Reason& reason) {
  Event event;
  event.kind = kind;
  event.status = status;
  event.reason = reason;
  queue(id, std::move(event));
}

std::optional<Event> Manager::next_event(ChannelNumber number) {
  const auto channel = channels_.find(number);
  if (channel == channels_.end() || channel->second.events.empty()) return std::nullopt;
  Event event = std::move(channel->second.events.front());
  channel->second.events.pop_front();
  count_fetched(event);
  return event;
}

void Manager::count_fetched(const Event& event) {
  Id* id = find(counted_for(event));
  if (id == nullptr) return;
  ++id->fetched_events;
  --id->queued_events;
  if (event.listener != 0) {
    --id->unfetched_requests;
    if (Id* request = find(event.id); request != nullptr) request->waits_at = 0;
  }
  if (const auto it = id->memberships.find(event.membership); it != id->memberships.end())
    ++it->second.fetched;
}

void Manager::take_back_request(Id& id) {
  if (const auto channel = channels_.find(id.channel); channel != channels_.end()) {
    auto& events = channel->second.events;
    const auto request = std::find_if(events.begin(), events.end(), [&id](const Event& event) {
      return event.listener != 0 && event.id == id.number;
    });
    if (request != events.end()) events.erase(request);
  }
  if (Id* listener = find(id.waits_at); listener != nullptr) {
    --listener->queued_events;
    --listener->unfetched_requests;
  }
  forget(id.number);
}

void Manager::drop_events(Id& id, MembershipNumber membership) {
  const auto channel = channels_.find(id.channel);
  if (channel == channels_.end()) return;
  const auto dropped = std::erase_if(
      channel->second.events, [membership](const Event& event) { return event.membership == membership; });
  id.queued_events -= static_cast<std::uint32_t>(dropped);
}

void Manager::drop_events(Id& id) {
  const auto channel = channels_.find(id.channel);
  if (id.queued_events == 0 || channel == channels_.end()) return;
  std::vector<IdNumber> unheard;
  std::erase_if(channel->second.events, [&](const Event& event) {
    if (counted_for(event) != id.number) return false;
    if (event.listener != 0) unheard.push_back(event.id);
    return true;
  });
  // nobody knows of the requests that came through a listener which is gone
  for (const IdNumber request : unheard) forget(request);
}

Expected<std::uint32_t, Failure> Manager::migrate(IdNumber number, ChannelNumber to) {
  const auto named = find_named(number);
  if (!named) return Unexpected{named.error()};
  Id* const id = *named;
  const auto old_channel = channels_.find(id->channel);
  const auto new_channel = channels_.find(to);
  if (new_channel == channels_.end() || old_channel == channels_.end())
    return Unexpected{refuse(EINVAL, ReasonId::cma_no_such_channel, to)};
  if (old_channel == new_channel) return id->fetched_events;
  const auto move_id = [&](Id& moved) {
    --old_channel->second.ids;
    ++new_channel->second.ids;
    moved.channel = to;
  };
  move_id(*id);
  std::erase_if(old_channel->second.events, [&](Event& event) {
    if (counted_for(event) != number) return false;
    if (Id* request = event.listener != 0 ? find(event.id) : nullptr; request != nullptr) move_id(*request);
    new_channel->second.events.push_back(std::move(event));
    host_.event_queued(to);
    return true;
  });
  return id->fetched_events;
}

}  // namespace softrnic::cma
