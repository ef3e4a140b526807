#include "cm/disconnects.h"

#include "base/reason_id.h"

namespace softrnic::cm {
namespace {

bool names_our_queue_pair(const Connection& connection, Qpn named) { return named == connection.local_qpn; }

}  // namespace

void Disconnects::send_dreq(Connection& connection, Bytes private_data, TimePoint now) {
  Dreq dreq;
  dreq.local_id = connection.id.value;
  dreq.remote_id = connection.remote_id;
  dreq.remote_qpn = connection.remote_qpn;
  fill(dreq.private_data, private_data);
  connection.transaction = transmission_.new_transaction(connection.id);
  lifecycle_.enter(connection, State::dreq_sent);
  transmission_.send_until_answered(connection, encode(dreq, connection.transaction), now);
}

void Disconnects::send_drep(Connection& connection, std::uint64_t transaction, Bytes private_data,
                            TimePoint now) {
  Drep drep;
  drep.local_id = connection.id.value;
  drep.remote_id = connection.remote_id;
  fill(drep.private_data, private_data);
  transmission_.send(connection, encode(drep, transaction));
  lifecycle_.enter_timewait(connection, now);
}

Expected<void, Failure> Disconnects::disconnect(Id id, Bytes private_data, TimePoint now) {
  if (const auto failure = too_long(private_data, kDreqPrivateData)) return Unexpected{*failure};
  const auto claimed = lifecycle_.claim(id, {State::established});
  if (!claimed) return Unexpected{claimed.error()};
  send_dreq(**claimed, private_data, now);
  return {};
}

Expected<void, Failure> Disconnects::reply(Id id, Bytes private_data, TimePoint now) {
  if (const auto failure = too_long(private_data, kDrepPrivateData)) return Unexpected{*failure};
  const auto claimed = lifecycle_.claim(id, {State::dreq_received});
  if (!claimed) return Unexpected{claimed.error()};
  send_drep(**claimed, (*claimed)->transaction, private_data, now);
  return {};
}

void Disconnects::dreq_came(Connection& connection, const Incoming& in) {
  const Qpn named = decode<Dreq>(in.mad).remote_qpn;
  if (!names_our_queue_pair(connection, named)) {
    return host_.explain(because(ReasonId::cm_drop_wrong_qpn, in.header.attribute, connection.id.value,
                                 named.value, connection.local_qpn.value),
                         in.from);
  }
  lifecycle_.enter(connection, State::dreq_received);
  connection.transaction = in.header.transaction;
  Event event{.kind = EventKind::disconnect_request};
  event.private_data = in.private_data(kDreqPrivateData);
  lifecycle_.tell(connection, event);
}

void Disconnects::dreq_crossed(Connection& connection, const Incoming& in) {
  if (!names_our_queue_pair(connection, decode<Dreq>(in.mad).remote_qpn)) return dreq_came(connection, in);
  send_drep(connection, in.header.transaction, {}, in.now);
  Event event{.kind = EventKind::disconnect_reply};
  event.private_data = in.private_data(kDreqPrivateData);
  lifecycle_.tell(connection, event);
}

void Disconnects::dreq_late(Connection& connection, const Incoming& in) {
  if (connection.last_message() == Message::drep) {
    transmission_.repeat(connection);
    return;
  }
  stateless_.disconnected(in);
}

void Disconnects::drep_came(Connection& connection, const Incoming& in) {
  lifecycle_.enter_timewait(connection, in.now);
  Event event{.kind = EventKind::disconnect_reply};
  event.private_data = in.private_data(kDrepPrivateData);
  lifecycle_.tell(connection, event);
}

void Disconnects::timed_out(Connection& connection, TimePoint now) {
  Event event{.kind = EventKind::disconnect_timeout};
  event.reason = because(ReasonId::cm_dreq_timeout, connection.sends, connection.waited_ms(now));
  lifecycle_.enter_timewait(connection, now);
  lifecycle_.tell(connection, event);
}

void Disconnects::lap_came(Connection& connection, const Incoming& in) {
  const bool ours = names_our_queue_pair(connection, decode<Lap>(in.mad).remote_qpn);
  stateless_.refuse_path(in, ours ? AprStatus::not_supported : AprStatus::wrong_qpn);
}

void Disconnects::give_up_stale(Connection& connection, Message because_of, TimePoint now) {
  const Reason reason = because(ReasonId::cm_stale_here, because_of, connection.remote_qpn.value,
                                connection.peer.remote.high_half(), connection.peer.remote.low_half());
  host_.explain(reason, connection.peer);
  switch (connection.state) {
    case State::established:
      return send_dreq(connection, {}, now);
    case State::dreq_sent:
    case State::dreq_received:
      return;  // is on its way out
    default:
      break;
  }
  lifecycle_.enter_timewait(connection, now);
  Event event{.kind = EventKind::rejected};
  event.rejection = RejectReason::stale_connection;
  event.reason = reason;
  lifecycle_.tell(connection, event);
}

}  // namespace softrnic::cm
