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

ChannelNumber Manager::open_channel() { return channels_.open(); }

Expected<void, Failure> Manager::close_channel(ChannelNumber number) {
  if (!channels_.has(number)) return Unexpected{refuse(EINVAL, ReasonId::cma_no_such_channel, number)};
  const std::size_t left = channels_.ids(number);
  if (left == 0) {
    channels_.close(number);
    return {};
  }
  host_.explain(because(ReasonId::cma_ids_ended, left), {});
  abandon({number});
  return {};
}

void Manager::abandon(const std::set<ChannelNumber>& channels) {
  std::vector<IdNumber> ids;
  for (const auto& [number, id] : ids_.all())
    if (channels.contains(id->channel)) ids.push_back(number);
  for (const IdNumber id : ids) forget(id);
  for (const ChannelNumber channel : channels) channels_.close(channel);
}

void Manager::queue(Id& id, Event event) {
  if (id.accepted) put(id, std::move(event));
}

void Manager::put(Id& id, Event event) {
  if (id.quiet) return;
  if (event.id == 0) event.id = id.number;
  if (!is_multicast(event)) event.cookie = id.cookie;
  if (!channels_.put(id.channel, std::move(event))) return;
  ++id.queued_events;
  host_.event_queued(id.channel);
}

void Manager::queue_failure(Id& id, rdma_cm_event_type kind, int status, const Reason& reason) {
  Event event;
  event.kind = kind;
  event.status = status;
  event.reason = reason;
  queue(id, std::move(event));
}

// Also of an id that came with a request and is not accepted yet: Linux's library drops its event then, and
// who waits to be woken sleeps on.
Expected<void, Failure> Manager::write_event(IdNumber number, std::uint32_t kind, int status,
                                             std::uint64_t argument) {
  const auto named = ids_.find_named(number);
  if (!named) return Unexpected{named.error()};
  if (kind <= RDMA_CM_EVENT_TIMEWAIT_EXIT)
    return Unexpected{refuse(EINVAL, ReasonId::cma_written_event, kind)};
  if (channels_.events() >= kMostQueuedEvents)
    return Unexpected{refuse(ENOMEM, ReasonId::cma_too_many_events, channels_.events())};
  Event event;
  event.kind = kind;
  event.status = status;
  event.argument = argument;
  put(**named, std::move(event));
  return {};
}

std::optional<Event> Manager::next_event(ChannelNumber channel) {
  auto event = channels_.take(channel);
  if (event) count_fetched(*event);
  return event;
}

void Manager::count_fetched(const Event& event) {
  Id* id = ids_.find(counted_for(event));
  if (id == nullptr) return;
  ++id->fetched_events;
  --id->queued_events;
  if (event.listener != 0) {
    --id->unfetched_requests;
    if (Id* request = ids_.find(event.id); request != nullptr) request->waits_at = 0;
  }
  if (const auto it = id->memberships.find(event.membership); it != id->memberships.end())
    ++it->second.fetched;
}

void Manager::take_back_request(Id& id) {
  channels_.remove(id.channel,
                   [&id](const Event& event) { return event.listener != 0 && event.id == id.number; });
  if (Id* listener = ids_.find(id.waits_at); listener != nullptr) {
    --listener->queued_events;
    --listener->unfetched_requests;
  }
  forget(id.number);
}

void Manager::drop_events(Id& id, MembershipNumber membership) {
  const std::size_t dropped = channels_.remove(
      id.channel, [membership](const Event& event) { return event.membership == membership; });
  id.queued_events -= static_cast<std::uint32_t>(dropped);
}

void Manager::drop_events(Id& id) {
  if (id.queued_events == 0) return;
  std::vector<IdNumber> unheard;
  channels_.remove(id.channel, [&](const Event& event) {
    if (counted_for(event) != id.number) return false;
    if (event.listener != 0) unheard.push_back(event.id);
    return true;
  });
  // nobody knows of the requests that came through a listener which is gone
  for (const IdNumber request : unheard) forget(request);
}

void Manager::move_to(Id& id, ChannelNumber channel) {
  channels_.id_left(id.channel);
  channels_.id_came(channel);
  id.channel = channel;
}

Expected<std::uint32_t, Failure> Manager::migrate(IdNumber number, ChannelNumber to) {
  const auto named = ids_.find_named(number);
  if (!named) return Unexpected{named.error()};
  Id* const id = *named;
  const ChannelNumber from = id->channel;
  if (!channels_.has(to) || !channels_.has(from))
    return Unexpected{refuse(EINVAL, ReasonId::cma_no_such_channel, to)};
  if (from == to) return id->fetched_events;
  move_to(*id, to);
  channels_.move(from, to, [&](const Event& event) {
    if (counted_for(event) != number) return false;
    if (Id* request = event.listener != 0 ? ids_.find(event.id) : nullptr; request != nullptr)
      move_to(*request, to);
    host_.event_queued(to);
    return true;
  });
  return id->fetched_events;
}

}  // namespace softrnic::cma
