// The end of a connection or of an attempt: REJ, DREQ, DREP, and what destroying an ID means in each state.
#include "cm/incoming.h"

namespace softrnic::cm {
namespace {

std::array<std::byte, 8> bytes_of(std::uint64_t ca_guid) {
  std::array<std::byte, 8> bytes;
  store_be64(bytes.data(), ca_guid);
  return bytes;
}

// Which of its messages a REJ of this side is about, and whether the peer knows this
// side's ID already (12.6.7).
struct RejectedMessage {
  About about;
  bool names_id;
};
RejectedMessage rejected_message(const Connection& connection) {
  switch (connection.state) {
    case State::req_received:
      return {About::req, false};
    case State::mra_req_sent:
      return {About::req, true};
    case State::rep_received:
    case State::mra_rep_sent:
      return {About::rep, true};
    default:
      return {About::other, true};
  }
}

Reason reason_of(const Rej& rej, const Connection& connection) {
  switch (rej.reason) {
    case RejectReason::invalid_service_id:
      return because(ReasonId::cm_rejected_no_listener, connection.service_id.value);
    case RejectReason::consumer_defined:
      return because(ReasonId::cm_rejected_by_program);
    case RejectReason::stale_connection:
      return because(ReasonId::cm_rejected_stale, connection.local_qpn.value);
    case RejectReason::timeout:
      return because(ReasonId::cm_rejected_timeout, rej.about);
    default:
      return because(ReasonId::cm_rejected, rej.reason, rej.about, rej.reason);
  }
}

enum class Farewell : std::uint8_t {
  none,
  forget,          ///< nobody else knows of it
  reject_timeout,  ///< the REQ is taken back
  reject_consumer,
  dreq,
  drep,
  sidr_rejected,
};
constexpr std::array<Farewell, kStates> kFarewells = [] {
  std::array<Farewell, kStates> table{};
  const auto set = [&table](Farewell farewell, std::initializer_list<State> states) {
    for (const State state : states) table[static_cast<std::size_t>(state)] = farewell;
  };
  set(Farewell::forget, {State::idle, State::sidr_req_sent});
  set(Farewell::reject_timeout, {State::req_sent, State::mra_req_received});
  set(Farewell::reject_consumer, {State::req_received, State::mra_req_sent, State::rep_sent,
                                  State::mra_rep_received, State::rep_received, State::mra_rep_sent});
  set(Farewell::dreq, {State::established});
  set(Farewell::drep, {State::dreq_received});
  set(Farewell::sidr_rejected, {State::sidr_req_received});
  set(Farewell::none, {State::dreq_sent, State::timewait});  // goes on unseen
  return table;
}();

}  // namespace

void Manager::send_rej(Connection& connection, const Rejection& rejection) {
  const RejectedMessage rejected = rejected_message(connection);
  Rej rej;
  if (rejected.names_id) rej.local_id = connection.id.value;
  rej.remote_id = connection.remote_id;
  rej.about = rejected.about;
  rej.reason = rejection.reason;
  rej.info_length = static_cast<std::uint8_t>(rejection.additional_info.size());
  fill(rej.additional_info, rejection.additional_info);
  fill(rej.private_data, rejection.private_data);
  connection.refused = true;
  send(connection, encode(rej, connection.transaction));
}

// The CA GUID lets a peer find the connection that never learned this side's ID for it (12.6.7.2).
void Manager::reject_by_timeout(Connection& connection) {
  const auto guid = bytes_of(ca_guid_);
  send_rej(connection, {.reason = RejectReason::timeout, .additional_info = guid});
}

Expected<void, Failure> Manager::reject(Id id, const Rejection& rejection, TimePoint now) {
  if (const auto failure = too_long(rejection.additional_info, kAdditionalInfo)) return Unexpected{*failure};
  if (const auto failure = too_long(rejection.private_data, kRejPrivateData)) return Unexpected{*failure};
  const auto claimed = claim(id, {State::req_received, State::mra_req_sent, State::rep_sent,
                                  State::mra_rep_received, State::rep_received, State::mra_rep_sent});
  if (!claimed) return Unexpected{claimed.error()};
  send_rej(**claimed, rejection);
  enter_timewait(**claimed, now);
  return {};
}

void Manager::send_dreq(Connection& connection, Bytes private_data, TimePoint now) {
  Dreq dreq;
  dreq.local_id = connection.id.value;
  dreq.remote_id = connection.remote_id;
  dreq.remote_qpn = connection.remote_qpn;
  fill(dreq.private_data, private_data);
  connection.transaction = std::uint64_t{host_.random_number()} << 32 | connection.id.value;
  enter(connection, State::dreq_sent);
  send_until_answered(connection, encode(dreq, connection.transaction), now);
}

void Manager::send_drep(Connection& connection, std::uint64_t transaction, Bytes private_data,
                        TimePoint now) {
  Drep drep;
  drep.local_id = connection.id.value;
  drep.remote_id = connection.remote_id;
  fill(drep.private_data, private_data);
  send(connection, encode(drep, transaction));
  enter_timewait(connection, now);
}

Expected<void, Failure> Manager::disconnect(Id id, Bytes private_data, TimePoint now) {
  if (const auto failure = too_long(private_data, kDreqPrivateData)) return Unexpected{*failure};
  const auto claimed = claim(id, {State::established});
  if (!claimed) return Unexpected{claimed.error()};
  send_dreq(**claimed, private_data, now);
  return {};
}

Expected<void, Failure> Manager::disconnect_reply(Id id, Bytes private_data, TimePoint now) {
  if (const auto failure = too_long(private_data, kDrepPrivateData)) return Unexpected{*failure};
  const auto claimed = claim(id, {State::dreq_received});
  if (!claimed) return Unexpected{claimed.error()};
  send_drep(**claimed, (*claimed)->transaction, private_data, now);
  return {};
}

void Manager::destroy(Id id, TimePoint now) {
  Connection* const found = table_.find(id.value);
  if (found == nullptr || found->hidden) return;
  found->hidden = true;
  part_from(*found, now);
  Connection* const left = table_.find(id.value);
  if (left != nullptr && !is_worth_keeping(*left)) retire(*left);
}

void Manager::part_from(Connection& connection, TimePoint now) {
  switch (kFarewells[static_cast<std::size_t>(connection.state)]) {
    case Farewell::none:
      return;
    case Farewell::forget:
      return retire(connection);
    case Farewell::reject_timeout:
      reject_by_timeout(connection);
      return retire(connection);
    case Farewell::reject_consumer:
      send_rej(connection, {});
      return enter_timewait(connection, now);
    case Farewell::dreq:
      return send_dreq(connection, {}, now);
    case Farewell::drep:
      return send_drep(connection, connection.transaction, {}, now);
    case Farewell::sidr_rejected:
      return send_sidr_rep(connection, {.status = SidrStatus::rejected}, now);
  }
}

bool Manager::is_worth_keeping(const Connection& connection) const {
  return connection.burden != Burden::refused ||
         (table_.burden(Burden::refused) <= limits_.refused &&
          table_.burden(Burden::refused, connection.peer.remote) <= limits_.refused_peer);
}

void Manager::on_rej(Connection& connection, const Incoming& in) {
  if (connection.held != nullptr) return retire(connection);  // it was taken back
  const Rej rej = decode<Rej>(in.mad);
  Event event{.kind = EventKind::rejected};
  event.rejection = rej.reason;
  event.about = rej.about;
  event.additional_info = Bytes(in.mad).subspan(mad::kHeaderBytes + 12, kAdditionalInfo);
  event.additional_info =
      event.additional_info.first(std::min<std::size_t>(rej.info_length, kAdditionalInfo));
  event.private_data = in.private_data(kRejPrivateData);
  event.reason = reason_of(rej, connection);
  // Before the REP there is nothing to wait for, unless the queue pair is in question.
  const bool early = connection.active && connection.remote_id == 0;
  if (early && rej.reason != RejectReason::stale_connection) return conclude(connection, event);
  enter_timewait(connection, in.now);
  tell(connection, event);
}

namespace {

bool names_our_queue_pair(const Connection& connection, Qpn named) { return named == connection.local_qpn; }

}  // namespace

void Manager::on_dreq(Connection& connection, const Incoming& in) {
  const Qpn named = decode<Dreq>(in.mad).remote_qpn;
  if (!names_our_queue_pair(connection, named)) {
    return host_.explain(because(ReasonId::cm_drop_wrong_qpn, in.header.attribute, connection.id.value,
                                 named.value, connection.local_qpn.value),
                         in.from);
  }
  enter(connection, State::dreq_received);
  connection.transaction = in.header.transaction;
  Event event{.kind = EventKind::disconnect_request};
  event.private_data = in.private_data(kDreqPrivateData);
  tell(connection, event);
}

void Manager::on_crossing_dreq(Connection& connection, const Incoming& in) {
  if (!names_our_queue_pair(connection, decode<Dreq>(in.mad).remote_qpn)) return on_dreq(connection, in);
  send_drep(connection, in.header.transaction, {}, in.now);
  Event event{.kind = EventKind::disconnect_reply};
  event.private_data = in.private_data(kDreqPrivateData);
  tell(connection, event);
}

void Manager::on_late_dreq(Connection& connection, const Incoming& in) {
  if (connection.last_message() == Message::drep) return repeat(connection, in);
  answer_dreq(in);
}

void Manager::on_drep(Connection& connection, const Incoming& in) {
  enter_timewait(connection, in.now);
  Event event{.kind = EventKind::disconnect_reply};
  event.private_data = in.private_data(kDrepPrivateData);
  tell(connection, event);
}

void Manager::on_dreq_timeout(Connection& connection, TimePoint now) {
  Event event{.kind = EventKind::disconnect_timeout};
  event.reason = because(ReasonId::cm_dreq_timeout, connection.sends, connection.waited_ms(now));
  enter_timewait(connection, now);
  tell(connection, event);
}

void Manager::on_lap(Connection& connection, const Incoming& in) {
  const bool ours = names_our_queue_pair(connection, decode<Lap>(in.mad).remote_qpn);
  answer_lap(in, ours ? AprStatus::not_supported : AprStatus::wrong_qpn);
}

void Manager::give_up_stale(Connection& connection, Message because_of, TimePoint now) {
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
  enter_timewait(connection, now);
  Event event{.kind = EventKind::rejected};
  event.rejection = RejectReason::stale_connection;
  event.reason = reason;
  tell(connection, event);
}

}  // namespace softrnic::cm
