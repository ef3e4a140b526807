#include "cm/rejects.h"

#include <array>

#include "base/reason_id.h"

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

}  // namespace

void Rejects::send(Connection& connection, const Rejection& rejection) {
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
  transmission_.send(connection, encode(rej, connection.transaction));
}

// The CA GUID lets a peer find the connection that never learned this side's ID for it (12.6.7.2).
void Rejects::send_timeout(Connection& connection) {
  const auto guid = bytes_of(ca_guid_);
  send(connection, {.reason = RejectReason::timeout, .additional_info = guid});
}

Expected<void, Failure> Rejects::reject(Id id, const Rejection& rejection, TimePoint now) {
  if (const auto failure = too_long(rejection.additional_info, kAdditionalInfo)) return Unexpected{*failure};
  if (const auto failure = too_long(rejection.private_data, kRejPrivateData)) return Unexpected{*failure};
  const auto claimed =
      lifecycle_.claim(id, {State::req_received, State::mra_req_sent, State::rep_sent,
                            State::mra_rep_received, State::rep_received, State::mra_rep_sent});
  if (!claimed) return Unexpected{claimed.error()};
  send(**claimed, rejection);
  lifecycle_.enter_timewait(**claimed, now);
  return {};
}

void Rejects::came(Connection& connection, const Incoming& in) {
  if (connection.held != nullptr) return lifecycle_.retire(connection);  // it was taken back
  const Rej rej = decode<Rej>(in.mad);
  Event event{.kind = EventKind::rejected};
  event.rejection = rej.reason;
  event.about = rej.about;
  event.additional_info = in.additional_info(12, rej.info_length);
  event.private_data = in.private_data(kRejPrivateData);
  event.reason = reason_of(rej, connection);
  // Before the REP there is nothing to wait for, unless the queue pair is in question.
  const bool early = connection.active && connection.remote_id == 0;
  if (early && rej.reason != RejectReason::stale_connection) return lifecycle_.conclude(connection, event);
  lifecycle_.enter_timewait(connection, in.now);
  lifecycle_.tell(connection, event);
}

// The record lives on while the peer repeats itself, so that the host is not asked a second time.
void Rejects::say_again(Connection& connection, const Incoming& in) {
  const bool is_req = in.header.attribute == static_cast<std::uint16_t>(Message::req);
  if (connection.last_message() == Message::rej) {
    // Who still repeats the REQ never got the REP, and takes no REJ of anything else.
    Rej rej = decode<Rej>(connection.sent);
    if (is_req) rej.about = About::req;
    transmission_.send(connection, encode(rej, connection.transaction));
    if (connection.state == State::timewait) lifecycle_.enter_timewait(connection, in.now);
    return;
  }
  if (is_req) {
    stateless_.reject(in, RejectReason::stale_connection, About::req);
  } else if (connection.remote_id == 0) {  // else the connection came about and is over: this is late
    stateless_.reject(in, RejectReason::invalid_communication_id, About::rep);
  }
}

}  // namespace softrnic::cm
