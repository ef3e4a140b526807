// What the library does about each event before the program sees it.
#include <rdma/rdma_cma.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "abi/rdmacm/events.h"
#include "abi/rdmacm/later_releases.h"
#include "abi/rdmacm/qp_states.h"
#include "abi/rdmacm/streams.h"
#include "base/reason_id.h"

namespace softrnic::rdmacm {
namespace {

using Message = control::CmEventReply;

/// Turns a failure of our own into the event that reports it.
void fail(Event& event, rdma_cm_event_type type, const Failure& failure) {
  event.event = type;
  event.status = -failure.error;
}

const void* keep_private_data(Event& event, const Message& message) {
  const std::size_t length = message.parameters.private_data_length;
  std::copy_n(message.parameters.private_data, length, event.private_data.begin());
  return length == 0 ? nullptr : event.private_data.data();
}

void copy_connection(Event& event, const Message& message) {
  const control::CmConnectionParameters& from = message.parameters;
  rdma_conn_param& to = event.param.conn;
  to.private_data = keep_private_data(event, message);
  to.private_data_len = from.private_data_length;
  to.responder_resources = from.responder_resources;
  to.initiator_depth = from.initiator_depth;
  to.flow_control = from.flow_control;
  to.retry_count = from.retry_count;
  to.rnr_retry_count = from.rnr_retry_count;
  to.srq = from.srq;
  to.qp_num = from.qpn;
}

void copy_datagrams(Event& event, const Message& message) {
  rdma_ud_param& to = event.param.ud;
  to.private_data = keep_private_data(event, message);
  to.private_data_len = message.parameters.private_data_length;
  to.ah_attr = address_of(message.address);
  to.qp_num = message.parameters.qpn;
  to.qkey = message.parameters.qkey;
}

bool copy_parameters(Event& event, const Message& message) {
  if (event.credited->datagrams()) {
    copy_datagrams(event, message);
  } else {
    copy_connection(event, message);
  }
  return true;
}

// ---- addresses and routes

bool address_resolved(Event& event, const Message& message) {
  auto adopted = event.credited->adopt(message.record);
  if (adopted && event.credited->device == nullptr) adopted = rnic::refused(ENODEV, ReasonId::no_such_device);
  if (!adopted) fail(event, RDMA_CM_EVENT_ADDR_ERROR, adopted.error());
  return true;
}

bool route_resolved(Event& event, const Message& message) {
  const auto adopted = event.credited->adopt(message.record);
  if (!adopted) fail(event, RDMA_CM_EVENT_ROUTE_ERROR, adopted.error());
  return true;
}

// ---- connections

Expected<std::unique_ptr<Id>, Failure> requested_id(Id& listener, const Message& message) {
  auto id = Id::create(listener.session, listener.channel, listener.context, listener.ps, listener.qp_type,
                       message.id);
  if (!id) return id;
  (*id)->initiator_depth = message.parameters.initiator_depth;
  (*id)->responder_resources = message.parameters.responder_resources;
  (*id)->remote_ece = message.ece;
  auto ready = (*id)->adopt(message.record);
  if (ready && listener.synchronous()) ready = migrate(**id, nullptr);
  if (!ready) return Unexpected{ready.error()};
  return id;
}

/// The acknowledgement counts for the listener. A request for which there is no memory is the peer's to
/// repeat.
bool connect_request(Event& event, const Message& message) {
  auto id = requested_id(*event.credited, message);
  if (!id) {
    static_cast<void>(event.credited->session->daemon.destroy_id(message.id));
    return false;
  }
  copy_parameters(event, message);
  event.listen_id = event.credited;
  event.id = id->release();
  return true;
}

bool connect_response(Event& event, const Message& message) {
  Id& id = *event.credited;
  copy_connection(event, message);
  id.remote_ece = message.ece;
  if (id.qp == nullptr) return true;  // the program moves its QP and calls rdma_establish
  const auto ready = confirm(id);
  if (ready) {
    event.event = RDMA_CM_EVENT_ESTABLISHED;
  } else {
    id.connect_failed = true;
    fail(event, RDMA_CM_EVENT_CONNECT_ERROR, ready.error());
  }
  return true;
}

/// On iWARP's active side the stream comes with it.
bool established(Event& event, const Message& message) {
  copy_parameters(event, message);
  Id& id = *event.credited;
  if (message.stream.token == 0) return true;
  auto ready = id.adopt(message.record);
  if (const auto started = start_stream(id, {message.stream, std::move(event.socket)}); !started)
    ready = started;
  if (ready) return true;
  static_cast<void>(modify_to_error(id));
  id.connect_failed = true;
  fail(event, RDMA_CM_EVENT_CONNECT_ERROR, ready.error());
  return true;
}

bool rejected(Event& event, const Message& message) {
  if (event.credited->connect_failed) return false;
  copy_connection(event, message);
  static_cast<void>(modify_to_error(*event.credited));
  return true;
}

bool disconnected(Event& event, const Message& message) {
  if (event.credited->connect_failed) return false;
  copy_connection(event, message);
  return true;
}

// ---- multicast

bool multicast_join(Event& event, const Message& message) {
  Membership& membership = *event.membership;
  membership.number = message.membership;  // join may not have come so far
  copy_datagrams(event, message);
  event.param.ud.private_data = membership.context;
  std::memcpy(membership.group.raw, message.address.gid, sizeof membership.group.raw);
  membership.lid = message.address.lid;
  const bool send_only = membership.flags == RDMA_MC_JOIN_FLAG_SENDONLY_FULLMEMBER;
  if (event.credited->qp == nullptr || send_only || event.status != 0) return true;
  const int error = ibv_attach_mcast(event.credited->qp, &membership.group, membership.lid);
  membership.attached = error == 0;
  if (error != 0) fail(event, RDMA_CM_EVENT_MULTICAST_ERROR, {error, {}});
  return true;
}

bool multicast_error(Event& event, const Message&) {
  event.param.ud.private_data = event.membership->context;
  return true;
}

// ---- events that the library, or the program, has written itself

bool nothing_to_do(Event&, const Message&) { return true; }

bool address_info_error(Event& event, const Message&) {
  event.credited->address_info->failure_fetched();
  return true;
}

bool copy_argument(Event& event, const Message& message) {
  std::memcpy(&event.param, &message.argument, sizeof message.argument);
  return true;
}

using Handler = bool (*)(Event&, const Message&);

// By enum rdma_cm_event_type.
constexpr std::array<Handler, kEventUser + 1> kHandlers = {
    address_resolved,    // ADDR_RESOLVED
    copy_parameters,     // ADDR_ERROR
    route_resolved,      // ROUTE_RESOLVED
    copy_parameters,     // ROUTE_ERROR
    connect_request,     // CONNECT_REQUEST
    connect_response,    // CONNECT_RESPONSE
    copy_parameters,     // CONNECT_ERROR
    copy_parameters,     // UNREACHABLE
    rejected,            // REJECTED
    established,         // ESTABLISHED
    disconnected,        // DISCONNECTED
    copy_parameters,     // DEVICE_REMOVAL
    multicast_join,      // MULTICAST_JOIN
    multicast_error,     // MULTICAST_ERROR
    copy_parameters,     // ADDR_CHANGE
    copy_parameters,     // TIMEWAIT_EXIT
    nothing_to_do,       // ADDRINFO_RESOLVED
    address_info_error,  // ADDRINFO_ERROR
    copy_argument,       // USER
};

}  // namespace

bool handle(Event& event, const Message& message) {
  const auto type = static_cast<std::size_t>(message.event);
  return (type < kHandlers.size() ? kHandlers[type] : copy_parameters)(event, message);
}

}  // namespace softrnic::rdmacm
