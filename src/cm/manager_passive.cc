// The passive side: REQ to RTU (IBTA 12.9.7, 12.10).
#include "cm/incoming.h"

namespace softrnic::cm {
namespace {

constexpr std::uint8_t kMaxMtu = 5;  // 4096 bytes

// The peer's words, turned round: what it calls local is remote here.
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
  return path;
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

Rep rep_of(const Reply& reply, const Connection& connection, std::uint64_t ca_guid) {
  const Endpoint& endpoint = reply.endpoint;
  Rep rep;
  rep.local_id = connection.id.value;
  rep.remote_id = connection.remote_id;
  rep.qkey = endpoint.qkey;
  rep.starting_psn = endpoint.starting_psn;
  rep.responder_resources = endpoint.responder_resources;
  rep.target_ack_delay = reply.target_ack_delay;
  rep.rnr_retry_count = endpoint.rnr_retry_count;
  rep.ca_guid = ca_guid;
  rep.vendor_high = static_cast<std::uint8_t>(endpoint.ece.vendor >> 16);
  rep.vendor_middle = static_cast<std::uint8_t>(endpoint.ece.vendor >> 8);
  rep.vendor_low = static_cast<std::uint8_t>(endpoint.ece.vendor);
  if (connection.service == Service::xrc) {
    rep.srq = true;
    rep.eecn = endpoint.qpn.value;
  } else {
    rep.initiator_depth = endpoint.initiator_depth;
    rep.flow_control = endpoint.flow_control;
    rep.srq = endpoint.srq;
    rep.qpn = endpoint.qpn;
  }
  fill(rep.private_data, reply.private_data);
  return rep;
}

std::optional<Failure> out_of_range(const Reply& reply) {
  constexpr std::uint32_t kMax24Bits = 0xffffff;
  const struct {
    std::uint32_t value, most;
  } limits[] = {{reply.endpoint.qpn.value, kMax24Bits},
                {reply.endpoint.starting_psn, kMax24Bits},
                {reply.endpoint.ece.vendor, kMax24Bits},
                {reply.endpoint.rnr_retry_count, 7},
                {reply.target_ack_delay, 31}};
  for (const auto& limit : limits) {
    if (limit.value > limit.most) return refuse(EINVAL, ReasonId::cm_bad_value, limit.value, limit.most);
  }
  return too_long(reply.private_data, kRepPrivateData);
}

struct Bounds {
  std::size_t all, of_peer;
};
Bounds bounds_of(Burden burden, const Limits& limits) {
  switch (burden) {
    case Burden::held:
      return {limits.held, limits.held_peer};
    case Burden::asked:
      return {limits.asked, limits.asked_peer};
    default:
      return {limits.half_open, limits.half_open_peer};
  }
}

}  // namespace

// The oldest goes without a word: an honest peer repeats its request, and others are not to be told anything.
bool Manager::make_room(const Incoming& in, Burden burden) {
  const auto [most, most_of_peer] = bounds_of(burden, limits_);
  const std::size_t of_peer = table_.burden(burden, in.from.remote), all = table_.burden(burden);
  const bool peer_full = of_peer >= most_of_peer;
  if (!peer_full && all < most && table_.size() < limits_.connections) return true;
  Connection* oldest = peer_full ? table_.oldest(burden, in.from.remote) : table_.oldest(burden);
  if (!peer_full && all < most)  // the table is full
    for (const Burden before : {Burden::asked, Burden::held})
      if (table_.burden(before) != 0) oldest = table_.oldest(before);
  if (oldest == nullptr) {
    host_.explain(because(ReasonId::cm_too_many_ids, table_.size()), in.from);
    return false;
  }
  Event event{.kind = EventKind::unreachable};
  event.reason = because(ReasonId::cm_limit, in.header.attribute, peer_full ? of_peer : all,
                         peer_full ? most_of_peer : most);
  host_.explain(event.reason, in.from);
  table_.forget_request(*oldest);
  conclude(*oldest, event);
  return true;
}

std::optional<RejectReason> Manager::refusal_of(const Req& req, const Incoming& in) {
  if (!listeners_.find(req.service_id)) {
    host_.explain(because(ReasonId::cm_no_listener, in.header.attribute, req.service_id.value), in.from);
    return RejectReason::invalid_service_id;
  }
  const auto service = service_of(req);
  if (!service || *service == Service::rd) {
    host_.explain(because(ReasonId::cm_bad_service, req.transport_service, req.extended_transport), in.from);
    return RejectReason::invalid_transport_service;
  }
  if (req.primary.local_gid != in.from.remote) {
    // Else this side's queue pair could be made to send to a host that never asked for it.
    const wire::Gid& named = req.primary.local_gid;
    host_.explain(because(ReasonId::cm_foreign_path, in.from.remote.high_half(), in.from.remote.low_half(),
                          named.high_half(), named.low_half()),
                  in.from);
    return RejectReason::unsupported_request;
  }
  if (req.mtu == 0 || req.mtu > kMaxMtu) {
    host_.explain(because(ReasonId::cm_bad_value, req.mtu, kMaxMtu), in.from);
    return RejectReason::invalid_mtu;
  }
  return std::nullopt;
}

Connection& Manager::add_request(Id id, const Req& req, const Incoming& in) {
  Connection& connection = table_.add(id);
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
  table_.index_request(connection);
  enter(connection, State::req_received);
  return connection;
}

// A REQ that no connection knows.
void Manager::on_req(const Incoming& in) {
  const Req req = decode<Req>(in.mad);
  if (const auto refusal = refusal_of(req, in)) return issue_rej(in, *refusal, About::req);
  const bool told = strangers_.take(in.now);
  const bool asked = table_.burden(Burden::asked, in.from.remote) < limits_.asked_peer;
  const Burden burden = told ? Burden::half_open : asked ? Burden::asked : Burden::held;
  if (!make_room(in, burden)) return;
  const auto id = free_id();
  if (!id) return;
  Connection& connection = add_request(*id, req, in);
  if (!told) return hold(connection, in, burden);
  tell_request(connection, in);
}

void Manager::tell_request(const Connection& connection, const Incoming& in) {
  Event event = request_event(decode<Req>(in.mad), in);
  event.listener = *listeners_.find(connection.service_id);
  event.service = connection.service;
  tell(connection, event);
}

Expected<void, Failure> Manager::reply(Id id, const Reply& reply, TimePoint now) {
  if (const auto failure = out_of_range(reply)) return Unexpected{*failure};
  const auto claimed = claim(id, {State::req_received, State::mra_req_sent});
  if (!claimed) return Unexpected{claimed.error()};
  Connection& connection = **claimed;
  connection.local_qpn = reply.endpoint.qpn;
  connection.ack_delay = duration_of(std::min(reply.target_ack_delay, kMaxPeerTimeout));
  const Rep rep = rep_of(reply, connection, ca_guid_);
  enter(connection, State::rep_sent);
  send_until_answered(connection, encode(rep, connection.transaction, reply.endpoint.ece.options), now);
  return {};
}

Expected<void, Failure> Manager::delay(Id id, std::uint8_t service_timeout, Bytes private_data, TimePoint) {
  if (const auto failure = too_long(private_data, kMraPrivateData)) return Unexpected{*failure};
  constexpr std::uint8_t kMaxCode = 31;
  if (service_timeout > kMaxCode) {
    return Unexpected{refuse(EINVAL, ReasonId::cm_bad_value, service_timeout, kMaxCode)};
  }
  const auto claimed = claim(id, {State::req_received, State::rep_received});
  if (!claimed) return Unexpected{claimed.error()};
  Connection& connection = **claimed;
  Mra mra;
  mra.local_id = id.value;
  mra.remote_id = connection.remote_id;
  mra.about = connection.active ? About::rep : About::req;
  mra.service_timeout = service_timeout;
  fill(mra.private_data, private_data);
  enter(connection, connection.active ? State::mra_rep_sent : State::mra_req_sent);
  send(connection, encode(mra, connection.transaction));
  return {};
}

Expected<void, Failure> Manager::established(Id id, TimePoint now) {
  const Connection* const found = table_.find(id.value);
  if (found != nullptr && !found->hidden && found->state == State::established) {
    return Unexpected{refuse(EISCONN, ReasonId::cm_wrong_state, id.value, found->state)};
  }
  const auto claimed = claim(id, {State::rep_sent, State::mra_rep_received});
  if (!claimed) return Unexpected{claimed.error()};
  (*claimed)->proven = true;  // it knows queue pair and PSN
  be_established(**claimed, {.kind = EventKind::established}, now);
  return {};
}

void Manager::on_rtu(Connection& connection, const Incoming& in) {
  Event event{.kind = EventKind::established};
  event.private_data = in.private_data(kRtuPrivateData);
  be_established(connection, event, in.now);
}

// 12.9.8.3.1 has a REQ end the connection that its queue pair has already. But whoever forges the peer's
// address can write a REQ, while the RTU names the ID that only this side's REP told. So the RTU ends it.
void Manager::be_established(Connection& connection, const Event& event, TimePoint now) {
  Connection* const earlier = table_.find_same_queue_pair(connection);
  if (earlier != nullptr) table_.forget_queue_pair(*earlier);
  table_.index_queue_pair(connection);
  enter(connection, State::established);
  if (earlier == nullptr) return tell(connection, event);
  const Id stale = earlier->id;  // whoever is told may end it
  tell(connection, event);
  if (Connection* const left = table_.find(stale.value)) give_up_stale(*left, Message::rtu, now);
}

void Manager::on_rep_timeout(Connection& connection, TimePoint now) {
  Event event{.kind = EventKind::unreachable};
  event.reason = because(ReasonId::cm_rep_timeout, connection.sends, connection.waited_ms(now));
  reject_by_timeout(connection);
  enter_timewait(connection, now);
  tell(connection, event);
}

}  // namespace softrnic::cm
