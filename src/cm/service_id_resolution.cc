#include "cm/service_id_resolution.h"

#include "base/reason_id.h"

namespace softrnic::cm {
namespace {

// How long an answer is kept for a repeated question. SIDR says nothing of the asker's patience.
constexpr Duration kKeepAnswer = duration_of(20);

Path path_of(const mad::Address& from) {
  Path path;
  path.local = from.local;
  path.remote = from.remote;
  path.interface_index = from.interface_index;
  path.pkey = from.pkey;
  path.flow_label = from.flow_label;
  path.traffic_class = from.traffic_class;
  path.hop_limit = from.hop_limit;
  path.local_lid = from.local_lid;
  path.remote_lid = from.remote_lid;
  path.sl = from.sl;
  return path;
}

SidrRep rep_of(const SidrReply& reply, std::uint32_t request_id, ServiceId service_id) {
  SidrRep rep;
  rep.request_id = request_id;
  rep.status = reply.status;
  rep.info_length = static_cast<std::uint8_t>(reply.additional_info.size());
  rep.vendor_high = static_cast<std::uint16_t>(reply.ece.vendor >> 8);
  rep.vendor_low = static_cast<std::uint8_t>(reply.ece.vendor);
  rep.qpn = reply.qpn;
  rep.service_id = service_id;
  rep.qkey = reply.qkey;
  fill(rep.additional_info, reply.additional_info);
  fill(rep.private_data, reply.private_data);
  return rep;
}

}  // namespace

Expected<Id, Failure> ServiceIdResolution::ask(const SidrRequest& request, TimePoint now) {
  if (const auto failure = too_long(request.private_data, kSidrReqPrivateData)) return Unexpected{*failure};
  const auto id = to_.lifecycle.free_id();
  if (!id) return id;
  Connection& connection = to_.table.add(*id);
  connection.active = connection.sidr = true;
  connection.service_id = request.service_id;
  connection.peer = address_of(request.path);
  connection.transaction = to_.transmission.new_transaction(*id);
  connection.max_retries = request.max_cm_retries;
  connection.answer_within = duration_of(request.response_timeout);
  SidrReq req;
  req.request_id = id->value;
  req.pkey = request.path.pkey;
  req.service_id = request.service_id;
  fill(req.private_data, request.private_data);
  to_.lifecycle.enter(connection, State::sidr_req_sent);
  to_.transmission.send_until_answered(connection, encode(req, connection.transaction), now);
  return *id;
}

void ServiceIdResolution::request_came(const Incoming& in) {
  const SidrReq req = decode<SidrReq>(in.mad);
  const auto listener = to_.listeners.find(req.service_id);
  if (!listener) {
    to_.host.explain(because(ReasonId::cm_no_listener, in.header.attribute, req.service_id.value), in.from);
    const SidrRep rep = rep_of({.status = SidrStatus::unsupported}, req.request_id, req.service_id);
    return to_.host.send(in.from, encode(rep, in.header.transaction));
  }
  if (!to_.room.make(in, Burden::half_open)) return;
  const auto id = to_.lifecycle.free_id();
  if (!id) return;
  Connection& connection = to_.table.add(*id);
  connection.sidr = true;
  connection.service_id = req.service_id;
  connection.peer = in.from;
  connection.remote_id = req.request_id;
  connection.transaction = in.header.transaction;
  connection.peer_interval = kKeepAnswer;
  connection.datagrams_in = 1;
  to_.table.index_sidr(connection);
  to_.lifecycle.enter(connection, State::sidr_req_received);
  Event event{.kind = EventKind::service_id_request};
  event.service_id = req.service_id;
  event.listener = *listener;
  event.path = path_of(in.from);
  event.path.pkey = req.pkey;
  event.private_data = in.private_data(kSidrReqPrivateData);
  to_.lifecycle.tell(connection, event);
}

void ServiceIdResolution::send_rep(Connection& connection, const SidrReply& reply, TimePoint now) {
  const SidrRep rep = rep_of(reply, connection.remote_id, connection.service_id);
  connection.refused = reply.status != SidrStatus::valid;
  to_.transmission.send(connection, encode(rep, connection.transaction, reply.ece.options));
  to_.lifecycle.enter_timewait(connection, now);
}

void ServiceIdResolution::refuse(Connection& connection, TimePoint now) {
  send_rep(connection, {.status = SidrStatus::rejected}, now);
}

Expected<void, Failure> ServiceIdResolution::answer(Id id, const SidrReply& reply, TimePoint now) {
  if (const auto failure = too_long(reply.additional_info, kAdditionalInfo)) return Unexpected{*failure};
  if (const auto failure = too_long(reply.private_data, kSidrRepPrivateData)) return Unexpected{*failure};
  const auto claimed = to_.lifecycle.claim(id, {State::sidr_req_received});
  if (!claimed) return Unexpected{claimed.error()};
  send_rep(**claimed, reply, now);
  return {};
}

void ServiceIdResolution::reply_came(Connection& connection, const Incoming& in) {
  const SidrRep rep = decode<SidrRep>(in.mad);
  Event event{.kind = EventKind::service_id_reply};
  event.service_id = connection.service_id;
  event.path = path_of(in.from);
  event.sidr.status = rep.status;
  event.sidr.qpn = rep.qpn;
  event.sidr.qkey = rep.qkey;
  event.sidr.ece = {static_cast<std::uint32_t>(rep.vendor_high << 8 | rep.vendor_low), in.header.modifier};
  event.additional_info = in.additional_info(24, rep.info_length);
  event.private_data = in.private_data(kSidrRepPrivateData);
  if (rep.status != SidrStatus::valid) {
    event.reason = because(ReasonId::cm_sidr_refused, connection.service_id.value, rep.status);
  }
  to_.lifecycle.conclude(connection, event);
}

void ServiceIdResolution::timed_out(Connection& connection) {
  Event event{.kind = EventKind::service_id_timeout};
  event.service_id = connection.service_id;
  event.reason = because(ReasonId::cm_sidr_timeout, connection.service_id.value, connection.sends,
                         (connection.interval * connection.sends).count() / 1'000'000);
  to_.lifecycle.conclude(connection, event);
}

}  // namespace softrnic::cm
