#include "abi/rdmacm/events.h"

#include <cerrno>
#include <cstdlib>

#include "abi/calls.h"
#include "abi/export.h"
#include "abi/rdmacm/later_releases.h"
#include "base/reason_id.h"

namespace softrnic::rdmacm {
namespace {

void explain_failure(const Id& id, const control::CmEventReply& message) {
  if (message.reason == 0 || message.reason >= reason_count()) return;
  Reason reason{static_cast<ReasonId>(message.reason), {}};
  for (std::size_t i = 0; i < reason.figures.size(); ++i) reason.figures[i] = message.figures[i];
  explain({.qpn = id.qpn(), .reason = reason});
}

/// Whom an event is about. The daemon may not know the cookie of an id that was not accepted yet.
bool address(Event& event, Session& session, const control::CmEventReply& message) {
  const bool multicast =
      message.event == RDMA_CM_EVENT_MULTICAST_JOIN || message.event == RDMA_CM_EVENT_MULTICAST_ERROR;
  if (multicast) {
    event.membership = session.memberships.find(message.cookie);
    if (event.membership != nullptr) event.credited = event.membership->id;
  } else {
    event.credited =
        message.cookie != 0 ? session.ids.find(message.cookie) : session.numbered_ids.find(message.id);
  }
  event.id = event.credited;
  return event.credited != nullptr;
}

/// Of who waits for the acknowledgement of this event, the membership is left first.
void credit(const Event& event) {
  if (event.membership != nullptr) event.membership->account.acknowledge();
  event.credited->account.acknowledge();
}

}  // namespace

Expected<std::unique_ptr<Event>, Failure> next_event(Channel& channel) {
  const auto source = channel.events();
  for (;;) {
    auto event = std::make_unique<Event>();  // before anything is fetched, as memory may run out
    const auto credit_event = [&](const control::CmEventReply& fetched) {
      if (!address(*event, *source->session(), fetched)) return;
      event->credited->account.hand_out();
      if (event->membership != nullptr) event->membership->account.hand_out();
    };
    const auto message = source->next(credit_event, event->socket);
    if (!message) return Unexpected{message.error()};
    if (event->credited == nullptr) continue;
    event->set_type(message->event);
    event->status = message->status;
    explain_failure(*event->credited, *message);
    if (handle(*event, *message)) return event;
    credit(*event);
  }
}

void acknowledge(rdma_cm_event* event) {
  const std::unique_ptr<Event> owned(Event::of(event));
  credit(*owned);
}

void drop_event(Id& id) {
  if (id.event == nullptr) return;
  acknowledge(id.event);
  id.event = nullptr;
}

Expected<void, Failure> complete(Id& id) {
  if (!id.synchronous()) return {};
  drop_event(id);
  auto event = next_event(*id.own_channel);
  if (!event) return Unexpected{event.error()};
  id.event = event->release();
  if (id.event->status == 0) return {};
  if (type_of(*id.event) == RDMA_CM_EVENT_REJECTED) return Unexpected{Failure{ECONNREFUSED, {}}};
  return Unexpected{Failure{std::abs(id.event->status), {}}};
}

}  // namespace softrnic::rdmacm

using namespace softrnic;
using namespace softrnic::rdmacm;

SOFTRNIC_EXPORT int rdma_get_cm_event(rdma_event_channel* channel, rdma_cm_event** event) {
  return abi::minus_one_call([&]() -> Expected<void, Failure> {
    if (channel == nullptr || event == nullptr) return abi::null_argument();
    auto next = next_event(*Channel::of(channel));
    if (!next) return Unexpected{next.error()};
    *event = next->release();
    return {};
  });
}

SOFTRNIC_EXPORT int rdma_ack_cm_event(rdma_cm_event* event) {
  return abi::minus_one_call([&]() -> Expected<void, Failure> {
    if (event == nullptr) return abi::null_argument();
    acknowledge(event);
    return {};
  });
}

SOFTRNIC_VERSIONED(int, rdma_write_cm_event, "RDMACM_1.4",
                   (rdma_cm_id * id, std::uint32_t event, int status, std::uint64_t arg)) {
  return abi::minus_one_call([&]() -> Expected<void, Failure> {
    if (id == nullptr) return abi::null_argument();
    if (event != kEventUser) return rnic::refused(EINVAL, ReasonId::cma_written_event, event);
    const Id& of = *Id::of(id);
    return of.session->heard(of.session->daemon.write_event(of.number, event, status, arg));
  });
}
