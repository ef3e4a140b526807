#include "cm/request_intake.h"

#include <algorithm>

#include "base/reason_id.h"
#include "cm/service_codes.h"

namespace softrnic::cm {
namespace {

constexpr std::uint8_t kMaxMtu = 5;  // 4096 bytes

// The peer's words, turned round: what it calls local is remote here. A path that leaves the subnet has other
// LIDs and another SL at its other end: as Linux, this side goes back the way that the REQ came.
Path path_of(const Req& req, const mad::Address& from) {
  Path path;
  path.local = req.primary.remote_gid;
  path.remote = req.primary.local_gid;
  path.interface_index = from.interface_index;
  path.pkey = req.pkey;
  path.mtu = req.mtu;
  path.rate = req.primary.rate;
  path.flow_label = req.primary.flow_label;
  path.traffic_class = req.primary.traffic_class;
  path.hop_limit = req.primary.hop_limit;
  path.sl = req.primary.sl;
  path.ack_timeout = req.primary.ack_timeout;
  if (!from.is_infiniband()) return path;
  path.local_lid = from.local_lid;
  path.remote_lid = from.remote_lid;
  if (!req.primary.subnet_local) path.sl = from.sl;
  return path;
}

struct Refusal {
  RejectReason rejection;
  Reason explanation;
};

// Else this side's queue pair could be made to send to a host that never asked for it. Connection managers
// send by the path that they offer, so that is known by the datagram.
std::optional<Refusal> refusal_of_path(const PathBlock& offered, const mad::Address& from) {
  if (offered.local_gid != from.remote)
    return Refusal{RejectReason::unsupported_request,
                   because(ReasonId::cm_foreign_path, from.remote.high_half(), from.remote.low_half(),
                           offered.local_gid.high_half(), offered.local_gid.low_half())};
  if (!from.is_infiniband() || !offered.subnet_local) return std::nullopt;
  if (offered.local_lid != from.remote_lid.value)
    return Refusal{RejectReason::unsupported_request,
                   because(ReasonId::cm_foreign_lid, from.remote_lid.value, offered.local_lid)};
  if (offered.remote_lid != from.local_lid.value)
    return Refusal{RejectReason::primary_remote_lid,
                   because(ReasonId::cm_wrong_lid, offered.remote_lid, from.local_lid.value)};
  return std::nullopt;
}

Event request_event(const Req& req, const Incoming& in) {
  Event event{.kind = EventKind::request};
  event.service_id = req.service_id;
  event.path = path_of(req, in.from);
  event.endpoint.qpn = req.qpn;
  event.endpoint.qkey = req.qkey;
  event.endpoint.starting_psn = req.starting_psn;
  event.endpoint.responder_resources = req.responder_resources;
  event.endpoint.initiator_depth = req.initiator_depth;
  event.endpoint.rnr_retry_count = req.rnr_retry_count;
  event.endpoint.flow_control = req.flow_control;
  event.endpoint.srq = req.srq;
  event.endpoint.ca_guid = req.ca_guid;
  event.endpoint.ece = {req.vendor, in.header.modifier};
  event.retry_count = req.retry_count;
  event.max_cm_retries = req.max_cm_retries;
  event.local_response_timeout = req.remote_response_timeout;
  event.remote_response_timeout = req.local_response_timeout;
  event.private_data = in.private_data(kReqPrivateData);
  return event;
}

}  // namespace

std::optional<RejectReason> RequestIntake::refusal_of(const Req& req, const Incoming& in) {
  if (!to_.listeners.find(req.service_id)) {
    to_.host.explain(because(ReasonId::cm_no_listener, in.header.attribute, req.service_id.value), in.from);
    return RejectReason::invalid_service_id;
  }
  const auto service = service_of(req);
  if (!service || *service == Service::rd) {
    to_.host.explain(because(ReasonId::cm_bad_service, req.transport_service, req.extended_transport),
                     in.from);
    return RejectReason::invalid_transport_service;
  }
  if (const auto refusal = refusal_of_path(req.primary, in.from)) {
    to_.host.explain(refusal->explanation, in.from);
    return refusal->rejection;
  }
  if (req.mtu == 0 || req.mtu > kMaxMtu) {
    to_.host.explain(because(ReasonId::cm_bad_value, req.mtu, kMaxMtu), in.from);
    return RejectReason::invalid_mtu;
  }
  return std::nullopt;
}

Connection& RequestIntake::add(Id id, const Req& req, const Incoming& in) {
  Connection& connection = to_.table.add(id);
  connection.service = *service_of(req);
  connection.service_id = req.service_id;
  connection.peer = in.from;
  connection.peer.traffic_class = req.primary.traffic_class;
  connection.peer.flow_label = req.primary.flow_label;
  connection.remote_id = req.local_id;
  connection.remote_ca_guid = req.ca_guid;
  connection.remote_qpn = req.qpn;
  connection.transaction = in.header.transaction;
  connection.max_retries = req.max_cm_retries;
  connection.life_time = life_time_of(req.primary.ack_timeout);
  connection.answer_within = answer_time_of(req.local_response_timeout) + 2 * connection.life_time;
  connection.peer_interval = answer_time_of(req.remote_response_timeout) + 2 * connection.life_time;
  connection.datagrams_in = 1;
  to_.table.index_request(connection);
  to_.lifecycle.enter(connection, State::req_received);
  return connection;
}

Connection* RequestIntake::admit(const Req& req, const Incoming& in, Burden burden) {
  if (!to_.room.make(in, burden)) return nullptr;
  const auto id = to_.lifecycle.free_id();
  return id ? &add(*id, req, in) : nullptr;
}

// A REQ that no connection knows.
void RequestIntake::came(const Incoming& in) {
  const Req req = decode<Req>(in.mad);
  if (const auto refusal = refusal_of(req, in)) return to_.stateless.reject(in, *refusal, About::req);
  const Burden burden = to_.held.burden_of_next(in.from.remote, in.now);
  Connection* const connection = admit(req, in, burden);
  if (connection == nullptr) return;
  if (burden != Burden::half_open) return to_.held.hold(*connection, in, burden);
  tell(*connection, in);
}

void RequestIntake::tell(const Connection& connection, const Incoming& in) {
  Event event = request_event(decode<Req>(in.mad), in);
  event.listener = *to_.listeners.find(connection.service_id);
  event.service = connection.service;
  to_.lifecycle.tell(connection, event);
}

void RequestIntake::repeated(Connection& connection, const Incoming& in) {
  if (to_.held.repeated(connection, in.now)) tell_held(connection, in.now);
}

void RequestIntake::sign_of_life(Connection& connection, const Incoming& in) {
  if (connection.held == nullptr) return;
  const wire::Gid peer = connection.peer.remote;
  tell_held(connection, in.now);
  to_.held.ask_next(peer);
}

void RequestIntake::tell_held(Connection& connection, TimePoint now) {
  const HeldRequests::Released released = to_.held.release(connection);
  const auto header = mad::parse_header(released.mad);  // as it had one when it came
  const Incoming in{released.peer, *header, released.mad, now};
  const Req req = decode<Req>(released.mad);
  if (!to_.listeners.find(req.service_id))
    return to_.stateless.reject(in, RejectReason::invalid_service_id, About::req);
  Connection* const told = admit(req, in, Burden::half_open);
  if (told == nullptr) return;
  told->datagrams_in = released.datagrams_in;
  told->datagrams_out = released.datagrams_out;
  tell(*told, in);
}

}  // namespace softrnic::cm
