#include "cma/incoming_requests.h"

#include <algorithm>

#include "base/reason_id.h"
#include "cm/messages.h"

namespace softrnic::cma {
namespace {

/// Linux bounds backlogs by 1024 (net.rdma_ucm.max_backlog). Here that would be the least, and is too little:
/// the daemon takes a burst of requests in one go, and a program that asked for a backlog of 3 would lose
/// clients that it could well serve. What strangers can do is bounded by cm: of requests whose senders give
/// no sign of life few come here (Limits::strangers), and when too many are not confirmed (Limits::half_open,
/// no higher than this) it gives up the oldest without a word, so that honest clients repeat theirs, where
/// this refuses the newest.
constexpr std::uint32_t kLeastBacklog = 32768;

constexpr Refusal kUnheard{cm::RejectReason::invalid_service_id, cm::SidrStatus::unsupported, {}};

}  // namespace

std::uint32_t backlog_for(int wanted) {
  return std::max(wanted > 0 ? static_cast<std::uint32_t>(wanted) : 0, kLeastBacklog);
}

void IncomingRequests::came(const cm::Event& request) {
  if (Id* const listener = to_.ports.listener_for(request)) return admit(*listener, request);
  if (!wait_for_listener(request)) refuse_unheard(request);
}

void IncomingRequests::admit(Id& listener, const cm::Event& request) {
  if (const auto refusal = refusal_of(request, listener, to_.devices, to_.host))
    return turn_away(request, *refusal);
  if (!to_.events.has_room(listener))
    return turn_away(
        request, {cm::RejectReason::no_resources, cm::SidrStatus::no_queue_pair,
                  because(ReasonId::cma_backlog_full, listener.source.port, listener.unfetched_requests)});
  make_id(listener, request);
}

void IncomingRequests::make_id(Id& listener, const cm::Event& request) {
  const auto binding = to_.devices.with_gid(request.path.local, request.path.interface_index,
                                            listener.devices.without_streams());
  if (!binding) return;  // refusal_of() has seen to it
  Id& id = to_.ids.add(listener.space, listener.qp_type, to_.host.random_number() & 0xffffff);
  to_.events.attach(id, listener.channel);
  to_.ids.connect(id, request.id);
  (void)to_.ports.attend(id, listener.port->port);  // cannot fail: the listener does
  take_over(id, listener, request, *binding);
  if (!id.is_datagram())
    to_.patience.expect_answer(id.number, id.connection, request.local_response_timeout, to_.host.now());
  to_.events.tell_request(listener, id, request_event(id, request));
}

bool IncomingRequests::wait_for_listener(const cm::Event& request) {
  if (!to_.ports.may_be_heard(port_of(request))) return false;
  if (const auto oldest = early_.keep(request, to_.host.now())) refuse_unheard(oldest->event);
  return true;
}

void IncomingRequests::gave_up(cm::Id connection) {
  const auto its = [connection](const EarlyRequests::Request& early) { return early.event.id == connection; };
  for (const EarlyRequests::Request& early : early_.take(its)) to_.cm.destroy(early.event.id, to_.host.now());
}

void IncomingRequests::listener_came() {
  const auto heard = [this](const EarlyRequests::Request& early) {
    return to_.ports.listener_for(early.event) != nullptr;
  };
  for (const EarlyRequests::Request& early : early_.take(heard)) came(early.event);
}

void IncomingRequests::listener_goes(const Id& id) {
  if (!id.attends || early_.empty() || to_.ports.may_be_heard(*id.attends, id.number)) return;
  refuse_waiting(
      [port = *id.attends](const EarlyRequests::Request& early) { return port_of(early.event) == port; });
}

void IncomingRequests::advance(TimePoint now) {
  refuse_waiting([now](const EarlyRequests::Request& early) { return early.until <= now; });
}

void IncomingRequests::refuse_waiting(const EarlyRequests::Chosen& chosen) {
  for (const EarlyRequests::Request& early : early_.take(chosen)) refuse_unheard(early.event);
}

void IncomingRequests::refuse_unheard(const cm::Event& request) {
  const auto message = is_datagram(request) ? cm::Message::sidr_req : cm::Message::req;
  Refusal refusal = kUnheard;
  refusal.explanation = because(ReasonId::cm_no_listener, message, request.service_id.value);
  if (const Id* const other = to_.ports.listener_elsewhere(request))
    refusal.explanation = because(ReasonId::cma_listener_elsewhere, message, other->source.port,
                                  other->source.host.high_half(), other->source.host.low_half());
  turn_away(request, refusal);
}

void IncomingRequests::turn_away(const cm::Event& request, const Refusal& refusal) {
  if (refusal.explanation) to_.host.explain(*refusal.explanation, cm::address_of(request.path));
  const TimePoint now = to_.host.now();
  if (is_datagram(request)) {
    cm::SidrReply reply;
    reply.status = refusal.status;
    (void)to_.cm.answer(request.id, reply, now);
  } else {
    cm::Rejection rejection;
    rejection.reason = refusal.reason;
    (void)to_.cm.reject(request.id, rejection, now);
  }
  to_.cm.destroy(request.id, now);
}

}  // namespace softrnic::cma
