#include "cma/id_events.h"

#include <cerrno>

#include "base/reason_id.h"

namespace softrnic::cma {
namespace {

bool is_multicast(const Event& event) { return event.membership != 0; }

/// The id whose events are counted: of a request that is the listener, as the new id is not
/// known to the program yet.
IdNumber counted_for(const Event& event) { return event.listener != 0 ? event.listener : event.id; }

}  // namespace

void IdEvents::attach(Id& id, ChannelNumber channel) {
  id.channel = channel;
  channels_.id_came(channel);
}

void IdEvents::move(Id& id, ChannelNumber channel) {
  channels_.id_left(id.channel);
  attach(id, channel);
}

Expected<void, Failure> IdEvents::migrate(Id& id, ChannelNumber to) {
  const ChannelNumber from = id.channel;
  if (!channels_.has(to) || !channels_.has(from))
    return Unexpected{refuse(EINVAL, ReasonId::cma_no_such_channel, to)};
  if (from == to) return {};
  move(id, to);
  channels_.move(from, to, [&](const Event& event) {
    if (counted_for(event) != id.number) return false;
    if (Id* request = event.listener != 0 ? ids_.find(event.id) : nullptr; request != nullptr)
      move(*request, to);
    queued_(to);
    return true;
  });
  return {};
}

void IdEvents::put(Id& id, Event event) {
  if (id.quiet) return;
  if (event.id == 0) event.id = id.number;
  if (!is_multicast(event)) event.cookie = id.cookie;
  if (!channels_.put(id.channel, std::move(event))) return;
  ++id.queued_events;
  queued_(id.channel);
}

void IdEvents::tell(Id& id, Event event) {
  if (id.accepted) put(id, std::move(event));
}

void IdEvents::tell_failure(Id& id, std::uint32_t kind, int status, const Reason& reason) {
  Event event;
  event.kind = kind;
  event.status = status;
  event.reason = reason;
  tell(id, std::move(event));
}

bool IdEvents::has_room(const Id& listener) const {
  return !listener.quiet && listener.unfetched_requests < listener.backlog && !ids_.full();
}

void IdEvents::tell_request(Id& listener, Id& request, Event event) {
  request.accepted = false;
  request.waits_at = listener.number;
  ++listener.unfetched_requests;
  event.id = request.number;
  event.listener = listener.number;
  tell(listener, std::move(event));
}

// Also of an id that came with a request and is not accepted yet: Linux's library drops its event then, and
// who waits to be woken sleeps on.
Expected<void, Failure> IdEvents::write(Id& id, std::uint32_t kind, int status, std::uint64_t argument) {
  if (kind <= RDMA_CM_EVENT_TIMEWAIT_EXIT)
    return Unexpected{refuse(EINVAL, ReasonId::cma_written_event, kind)};
  if (channels_.events() >= kMost)
    return Unexpected{refuse(ENOMEM, ReasonId::cma_too_many_events, channels_.events())};
  Event event;
  event.kind = kind;
  event.status = status;
  event.argument = argument;
  put(id, std::move(event));
  return {};
}

std::optional<Event> IdEvents::fetch(ChannelNumber channel) {
  auto event = channels_.take(channel);
  if (event) count_fetched(*event);
  return event;
}

void IdEvents::count_fetched(const Event& event) {
  Id* id = ids_.find(counted_for(event));
  if (id == nullptr) return;
  ++id->fetched_events;
  --id->queued_events;
  if (event.listener == 0) return;
  --id->unfetched_requests;
  if (Id* request = ids_.find(event.id); request != nullptr) request->waits_at = 0;
}

std::vector<IdNumber> IdEvents::drop(Id& id) {
  std::vector<IdNumber> unheard;
  if (id.queued_events == 0) return unheard;
  channels_.remove(id.channel, [&](const Event& event) {
    if (counted_for(event) != id.number) return false;
    if (event.listener != 0) unheard.push_back(event.id);
    return true;
  });
  return unheard;
}

void IdEvents::drop(Id& id, MembershipNumber membership) {
  const std::size_t dropped = channels_.remove(
      id.channel, [membership](const Event& event) { return event.membership == membership; });
  id.queued_events -= static_cast<std::uint32_t>(dropped);
}

bool IdEvents::drop_request(Id& request) {
  if (channels_.events(request.channel) == 1) return false;
  channels_.remove(request.channel, [&request](const Event& event) {
    return event.listener != 0 && event.id == request.number;
  });
  Id* const listener = ids_.find(request.waits_at);
  if (listener == nullptr) return true;
  --listener->queued_events;
  --listener->unfetched_requests;
  return true;
}

}  // namespace softrnic::cma
