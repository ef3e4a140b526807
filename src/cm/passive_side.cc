#include "cm/passive_side.h"

#include <algorithm>

#include "base/reason_id.h"

namespace softrnic::cm {
namespace {

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
  const auto too_large = above_limit({{reply.endpoint.qpn.value, kMax24Bits},
                                      {reply.endpoint.starting_psn, kMax24Bits},
                                      {reply.endpoint.ece.vendor, kMax24Bits},
                                      {reply.endpoint.rnr_retry_count, 7},
                                      {reply.target_ack_delay, 31}});
  return too_large ? too_large : too_long(reply.private_data, kRepPrivateData);
}

}  // namespace

Expected<void, Failure> PassiveSide::reply(Id id, const Reply& reply, TimePoint now) {
  if (const auto failure = out_of_range(reply)) return Unexpected{*failure};
  const auto claimed = to_.lifecycle.claim(id, {State::req_received, State::mra_req_sent});
  if (!claimed) return Unexpected{claimed.error()};
  Connection& connection = **claimed;
  connection.local_qpn = reply.endpoint.qpn;
  connection.ack_delay = duration_of(std::min(reply.target_ack_delay, kMaxPeerTimeout));
  const Rep rep = rep_of(reply, connection, ca_guid_);
  to_.lifecycle.enter(connection, State::rep_sent);
  to_.transmission.send_until_answered(connection,
                                       encode(rep, connection.transaction, reply.endpoint.ece.options), now);
  return {};
}

Expected<void, Failure> PassiveSide::established(Id id, TimePoint now) {
  const Connection* const found = to_.table.find(id.value);
  if (found != nullptr && !found->hidden && found->state == State::established) {
    return Unexpected{refuse(EISCONN, ReasonId::cm_wrong_state, id.value, found->state)};
  }
  const auto claimed = to_.lifecycle.claim(id, {State::rep_sent, State::mra_rep_received});
  if (!claimed) return Unexpected{claimed.error()};
  (*claimed)->proven = true;  // it knows queue pair and PSN
  be_established(**claimed, {.kind = EventKind::established}, now);
  return {};
}

void PassiveSide::rtu_came(Connection& connection, const Incoming& in) {
  Event event{.kind = EventKind::established};
  event.private_data = in.private_data(kRtuPrivateData);
  be_established(connection, event, in.now);
}

// 12.9.8.3.1 has a REQ end the connection that its queue pair has already. But whoever forges the peer's
// address can write a REQ, while the RTU names the ID that only this side's REP told. So the RTU ends it.
void PassiveSide::be_established(Connection& connection, const Event& event, TimePoint now) {
  Connection* const earlier = to_.table.find_same_queue_pair(connection);
  if (earlier != nullptr) to_.table.forget_queue_pair(*earlier);
  to_.table.index_queue_pair(connection);
  to_.lifecycle.enter(connection, State::established);
  if (earlier == nullptr) return to_.lifecycle.tell(connection, event);
  const Id stale = earlier->id;  // whoever is told may end it
  to_.lifecycle.tell(connection, event);
  if (Connection* const left = to_.table.find(stale.value))
    to_.disconnects.give_up_stale(*left, Message::rtu, now);
}

void PassiveSide::timed_out(Connection& connection, TimePoint now) {
  Event event{.kind = EventKind::unreachable};
  event.reason = because(ReasonId::cm_rep_timeout, connection.sends, connection.waited_ms(now));
  to_.rejects.send_timeout(connection);
  to_.lifecycle.enter_timewait(connection, now);
  to_.lifecycle.tell(connection, event);
}

}  // namespace softrnic::cm
