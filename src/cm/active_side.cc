#include "cm/active_side.h"

#include <algorithm>

#include "base/reason_id.h"
#include "cm/service_codes.h"

namespace softrnic::cm {
namespace {

std::optional<Failure> out_of_range(const Request& request) {
  const auto too_large = above_limit({{request.endpoint.qpn.value, kMax24Bits},
                                      {request.endpoint.starting_psn, kMax24Bits},
                                      {request.endpoint.ece.vendor, kMax24Bits},
                                      {request.endpoint.rnr_retry_count, 7},
                                      {request.retry_count, 7},
                                      {request.max_cm_retries, 15},
                                      {request.local_response_timeout, 31},
                                      {request.remote_response_timeout, 31},
                                      {request.path.ack_timeout, 31},
                                      {request.path.sl, 15},
                                      {request.path.flow_label, 0xfffff}});
  return too_large ? too_large : too_long(request.private_data, kReqPrivateData);
}

// Linux gives permissive LIDs to paths that leave the subnet, and on RoCE every path does that is routed by
// IP.
PathBlock block_of(const Path& path) {
  PathBlock block;
  block.subnet_local = path.is_subnet_local();
  block.local_lid = (block.subnet_local ? path.local_lid : wire::kPermissiveLid).value;
  block.remote_lid = (block.subnet_local ? path.remote_lid : wire::kPermissiveLid).value;
  block.local_gid = path.local;
  block.remote_gid = path.remote;
  block.flow_label = path.flow_label;
  block.rate = path.rate;
  block.traffic_class = path.traffic_class;
  block.hop_limit = path.hop_limit;
  block.sl = path.sl;
  block.ack_timeout = path.ack_timeout;
  return block;
}

Req req_of(const Request& request, Id id, std::uint64_t ca_guid) {
  const Endpoint& endpoint = request.endpoint;
  const ServiceCode& code = code_of(request.service);
  Req req;
  req.local_id = id.value;
  req.vendor = endpoint.ece.vendor;
  req.service_id = request.service_id;
  req.ca_guid = ca_guid;
  req.qkey = endpoint.qkey;
  req.qpn = endpoint.qpn;
  req.initiator_depth = endpoint.initiator_depth;
  req.remote_response_timeout = request.remote_response_timeout;
  req.transport_service = code.transport;
  req.extended_transport = code.extended;
  req.flow_control = endpoint.flow_control;
  req.starting_psn = endpoint.starting_psn;
  req.local_response_timeout = request.local_response_timeout;
  req.pkey = request.path.pkey;
  req.mtu = request.path.mtu;
  req.max_cm_retries = request.max_cm_retries;
  if (request.service != Service::xrc) {  // an initiator takes no requests, a target repeats none
    req.responder_resources = endpoint.responder_resources;
    req.retry_count = request.retry_count;
    req.rnr_retry_count = endpoint.rnr_retry_count;
    req.srq = endpoint.srq;
  }
  req.primary = block_of(request.path);
  fill(req.private_data, request.private_data);
  return req;
}

}  // namespace

Expected<Id, Failure> ActiveSide::connect(const Request& request, TimePoint now) {
  if (const auto failure = out_of_range(request)) return Unexpected{*failure};
  const auto id = to_.lifecycle.free_id();
  if (!id) return id;
  Connection& connection = to_.table.add(*id);
  connection.active = true;
  connection.service = request.service;
  connection.service_id = request.service_id;
  connection.peer = address_of(request.path);
  connection.local_qpn = request.endpoint.qpn;
  connection.transaction = to_.transmission.new_transaction(*id);
  connection.max_retries = request.max_cm_retries;
  connection.life_time = life_time_of(request.path.ack_timeout);
  connection.answer_within = duration_of(request.remote_response_timeout) + 2 * connection.life_time;
  to_.lifecycle.enter(connection, State::req_sent);
  const Req req = req_of(request, *id, ca_guid_);
  to_.transmission.send_until_answered(
      connection, encode(req, connection.transaction, request.endpoint.ece.options), now);
  return *id;
}

Expected<void, Failure> ActiveSide::confirm(Id id, Bytes private_data, TimePoint now) {
  if (const auto failure = too_long(private_data, kRtuPrivateData)) return Unexpected{*failure};
  const auto claimed = to_.lifecycle.claim(id, {State::rep_received, State::mra_rep_sent});
  if (!claimed) return Unexpected{claimed.error()};
  Connection& connection = **claimed;
  Rtu rtu;
  rtu.local_id = id.value;
  rtu.remote_id = connection.remote_id;
  fill(rtu.private_data, private_data);
  to_.lifecycle.enter(connection, State::established);
  to_.transmission.send_until_answered(connection, encode(rtu, connection.transaction), now);
  return {};
}

bool ActiveSide::rep_came(Connection& connection, const Incoming& in) {
  const Rep rep = decode<Rep>(in.mad);
  const bool xrc = connection.service == Service::xrc;
  const Qpn qpn = xrc ? Qpn(rep.eecn) : rep.qpn;
  Connection* const known = to_.table.find_request(in.from.remote, rep.ca_guid, rep.local_id);
  if (known != nullptr && known != &connection) return false;
  connection.remote_id = rep.local_id;
  connection.remote_ca_guid = rep.ca_guid;
  connection.remote_qpn = qpn;
  connection.ack_delay = duration_of(std::min(rep.target_ack_delay, kMaxPeerTimeout));
  if (Connection* const stale = to_.table.find_same_queue_pair(connection)) {
    const Id stale_id = stale->id;
    to_.lifecycle.enter(connection, State::rep_received);
    to_.rejects.send(connection, {.reason = RejectReason::stale_connection});
    to_.disconnects.give_up_stale(connection, Message::rep, in.now);
    if (Connection* const earlier = to_.table.find(stale_id.value))
      to_.disconnects.give_up_stale(*earlier, Message::rep, in.now);
    return true;
  }
  to_.table.index_request(connection);
  to_.table.index_queue_pair(connection);
  to_.lifecycle.enter(connection, State::rep_received);
  Event event{.kind = EventKind::reply};
  event.service = connection.service;
  event.endpoint.qpn = qpn;
  event.endpoint.qkey = rep.qkey;
  event.endpoint.starting_psn = rep.starting_psn;
  event.endpoint.responder_resources = rep.responder_resources;
  event.endpoint.initiator_depth = rep.initiator_depth;
  event.endpoint.rnr_retry_count = rep.rnr_retry_count;
  event.endpoint.flow_control = rep.flow_control;
  event.endpoint.srq = rep.srq;
  event.endpoint.ca_guid = rep.ca_guid;
  event.endpoint.ece.vendor =
      static_cast<std::uint32_t>(rep.vendor_high << 16 | rep.vendor_middle << 8 | rep.vendor_low);
  event.endpoint.ece.options = in.header.modifier;
  event.target_ack_delay = rep.target_ack_delay;
  event.private_data = in.private_data(kRepPrivateData);
  to_.lifecycle.tell(connection, event);
  return true;
}

void ActiveSide::timed_out(Connection& connection, TimePoint now) {
  Event event{.kind = EventKind::unreachable};
  event.reason = because(ReasonId::cm_req_timeout, connection.service_id.value, connection.sends,
                         connection.waited_ms(now));
  to_.rejects.send_timeout(connection);
  to_.lifecycle.conclude(connection, event);
}

}  // namespace softrnic::cm
