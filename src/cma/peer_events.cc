#include "cma/peer_events.h"

#include <cerrno>
#include <vector>

#include "base/reason_id.h"
#include "cma/parameters.h"
#include "cma/path.h"

namespace softrnic::cma {
namespace {

/// Events that say the same whatever the message held.
struct Translation {
  cm::EventKind from;
  rdma_cm_event_type to;
  State in;    ///< told in this state alone
  int status;  ///< negative errno
};
constexpr Translation kTranslations[] = {
    {cm::EventKind::established, RDMA_CM_EVENT_ESTABLISHED, State::connect, 0},
    {cm::EventKind::unreachable, RDMA_CM_EVENT_UNREACHABLE, State::connect, -ETIMEDOUT},
    {cm::EventKind::service_id_timeout, RDMA_CM_EVENT_UNREACHABLE, State::connect, -ETIMEDOUT},
    {cm::EventKind::timewait_exit, RDMA_CM_EVENT_TIMEWAIT_EXIT, State::disconnect, 0},
};

void copy(Bytes from, std::vector<std::byte>& to) { to.assign(from.begin(), from.end()); }

/// How long this side tells peers that it may take; see cm::Request.
constexpr std::uint8_t kResponseTimeout = 20;

}  // namespace

void PeerEvents::came(Id& id, const cm::Event& event, TimePoint now) {
  for (const Translation& row : kTranslations)
    if (row.from == event.kind && row.in == id.state)
      return events_.tell_failure(id, row.to, row.status, event.reason);
  switch (event.kind) {
    case cm::EventKind::reply:
      return replied(id, event, now);
    case cm::EventKind::rejected:
      return rejected(id, event);
    case cm::EventKind::service_id_reply:
      return service_replied(id, event);
    case cm::EventKind::disconnect_request:
      // The peer waits for this one, and has nothing to gain from the program's leisure.
      (void)cm_.disconnect_reply(event.id, {}, now);
      return disconnected(id, 0, {});
    case cm::EventKind::disconnect_reply:
      return disconnected(id, 0, {});
    case cm::EventKind::disconnect_timeout:
      return disconnected(id, -ETIMEDOUT, event.reason);
    default:  // rows above in another state; delays
      return;
  }
}

void PeerEvents::replied(Id& id, const cm::Event& event, TimePoint now) {
  if (id.state != State::connect) return;
  Agreement& agreement = id.agreement;
  agreement.remote_qpn = event.endpoint.qpn.value;
  agreement.remote_starting_psn = event.endpoint.starting_psn;
  agreement.responder_resources = within_device(event.endpoint.initiator_depth);
  agreement.initiator_depth = within_device(event.endpoint.responder_resources);
  agreement.rnr_retry_count = event.endpoint.rnr_retry_count;
  agreement.ack_timeout = ack_timeout_code(event.target_ack_delay, id.packet_life_time);
  id.agreed = true;
  patience_.expect_answer(id.number, id.connection, kResponseTimeout, now);
  Event told;
  told.kind = RDMA_CM_EVENT_CONNECT_RESPONSE;
  told.parameters.qpn = agreement.remote_qpn;
  told.parameters.responder_resources = agreement.responder_resources;
  told.parameters.initiator_depth = agreement.initiator_depth;
  told.parameters.rnr_retry_count = agreement.rnr_retry_count;
  told.parameters.flow_control = event.endpoint.flow_control;
  told.parameters.srq = event.endpoint.srq;
  told.ece = event.endpoint.ece;
  copy(event.private_data, told.parameters.private_data);
  events_.tell(id, std::move(told));
}

void PeerEvents::rejected(Id& id, const cm::Event& event) {
  if (id.state != State::connect) return;
  patience_.answered(id.number);
  Event told;
  told.kind = RDMA_CM_EVENT_REJECTED;
  told.status = static_cast<int>(event.rejection);
  told.reason = event.reason;
  copy(event.private_data, told.parameters.private_data);
  events_.tell(id, std::move(told));
}

void PeerEvents::service_replied(Id& id, const cm::Event& event) {
  if (id.state != State::connect) return;
  Event told;
  copy(event.private_data, told.parameters.private_data);
  told.reason = event.reason;
  if (event.sidr.status != cm::SidrStatus::valid) {
    told.kind = RDMA_CM_EVENT_UNREACHABLE;
    told.status = static_cast<int>(event.sidr.status);
  } else if (!id.settle_qkey(event.sidr.qkey)) {
    told.kind = RDMA_CM_EVENT_ADDR_ERROR;
    told.status = -EINVAL;
    told.reason = because(ReasonId::cma_qkey, event.sidr.qkey, id.qkey);
  } else {
    told.kind = RDMA_CM_EVENT_ESTABLISHED;
    id.agreement.remote_qpn = event.sidr.qpn.value;
    told.parameters.qpn = event.sidr.qpn.value;
    told.parameters.qkey = event.sidr.qkey;
    told.address = address_vector(id.path, id.binding.gid_index);
    told.ece = event.sidr.ece;
  }
  events_.tell(id, std::move(told));
}

void PeerEvents::disconnected(Id& id, int status, const Reason& reason) {
  if (id.state != State::connect) return;  // once, whoever began
  patience_.answered(id.number);
  id.state = State::disconnect;
  events_.tell_failure(id, RDMA_CM_EVENT_DISCONNECTED, status, reason);
}

}  // namespace softrnic::cma
