// Service ID resolution: which queue pair of unreliable datagrams is behind a service ID (IBTA 12.11).
#include "cm/incoming.h"

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

Expected<Id, Failure> Manager::request_service_id(const SidrRequest& request, TimePoint now) {
  if (const auto failure = too_long(request.private_data, kSidrReqPrivateData)) return Unexpected{*failure};
  const auto id = free_id();
  if (!id) return Unexpected{refuse(EMFILE, ReasonId::cm_too_many_ids, table_.size())};
  Connection& connection = table_.add(*id);
  connection.active = connection.sidr = true;
  connection.service_id = request.service_id;
  connection.peer = address_of(request.path);
  connection.transaction = std::uint64_t{host_.random_number()} << 32 | id->value;
  connection.max_retries = request.max_cm_retries;
  connection.answer_within = duration_of(request.response_timeout);
  SidrReq req;
  req.request_id = id->value;
  req.pkey = request.path.pkey;
  req.service_id = request.service_id;
  fill(req.private_data, request.private_data);
  enter(connection, State::sidr_req_sent);
  send_until_answered(connection, encode(req, connection.transaction), now);
  return *id;
}

// A SIDR_REQ that is not known.
void Manager::on_sidr_req(const Incoming& in) {
  const SidrReq req = decode<SidrReq>(in.mad);
  const auto listener = listeners_.find(req.service_id);
  if (!listener) {
    host_.explain(because(ReasonId::cm_no_listener, in.header.attribute, req.service_id.value), in.from);
    const SidrRep rep = rep_of({.status = SidrStatus::unsupported}, req.request_id, req.service_id);
    return host_.send(in.from, encode(rep, in.header.transaction));
  }
  if (!make_room(in, Burden::half_open)) return;
  const auto id = free_id();
  if (!id) return;
  Connection& connection = table_.add(*id);
  connection.sidr = true;
  connection.service_id = req.service_id;
  connection.peer = in.from;
  connection.remote_id = req.request_id;
  connection.transaction = in.header.transaction;
  connection.peer_interval = kKeepAnswer;
  connection.datagrams_in = 1;
  table_.index_sidr(connection);
  enter(connection, State::sidr_req_received);
  Event event{.kind = EventKind::service_id_request};
  event.service_id = req.service_id;
  event.listener = *listener;
  event.path = path_of(in.from);
  event.path.pkey = req.pkey;
  event.private_data = in.private_data(kSidrReqPrivateData);
  tell(connection, event);
}

void Manager::send_sidr_rep(Connection& connection, const SidrReply& reply, TimePoint now) {
  const SidrRep rep = rep_of(reply, connection.remote_id, connection.service_id);
  connection.refused = reply.status != SidrStatus::valid;
  send(connection, encode(rep, connection.transaction, reply.ece.options));
  enter_timewait(connection, now);
}

Expected<void, Failure> Manager::answer(Id id, const SidrReply& reply, TimePoint now) {
  if (const auto failure = too_long(reply.additional_info, kAdditionalInfo)) return Unexpected{*failure};
  if (const auto failure = too_long(reply.private_data, kSidrRepPrivateData)) return Unexpected{*failure};
  const auto claimed = claim(id, {State::sidr_req_received});
  if (!claimed) return Unexpected{claimed.error()};
  send_sidr_rep(**claimed, reply, now);
  return {};
}

void Manager::on_sidr_rep(Connection& connection, const Incoming& in) {
  const SidrRep rep = decode<SidrRep>(in.mad);
  Event event{.kind = EventKind::service_id_reply};
  event.service_id = connection.service_id;
  event.path = path_of(in.from);
  event.sidr.status = rep.status;
  event.sidr.qpn = rep.qpn;
  event.sidr.qkey = rep.qkey;
  event.sidr.ece = {static_cast<std::uint32_t>(rep.vendor_high << 8 | rep.vendor_low), in.header.modifier};
  event.additional_info = in.mad.subspan(mad::kHeaderBytes + 24, kAdditionalInfo);
  event.additional_info =
      event.additional_info.first(std::min<std::size_t>(rep.info_length, kAdditionalInfo));
  event.private_data = in.private_data(kSidrRepPrivateData);
  if (rep.status != SidrStatus::valid) {
    event.reason = because(ReasonId::cm_sidr_refused, connection.service_id.value, rep.status);
  }
  conclude(connection, event);
}

void Manager::on_sidr_timeout(Connection& connection) {
  Event event{.kind = EventKind::service_id_timeout};
  event.service_id = connection.service_id;
  event.reason = because(ReasonId::cm_sidr_timeout, connection.service_id.value, connection.sends,
                         (connection.interval * connection.sends).count() / 1'000'000);
  conclude(connection, event);
}

}  // namespace softrnic::cm
