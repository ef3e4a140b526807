#include "cm/transmission.h"

#include "base/reason_id.h"

namespace softrnic::cm {
namespace {

/// What goes to an address that may be forged, for each datagram from there. All of CM's are of one length.
constexpr std::uint32_t kMostForEach = 3;

bool may_transmit(const Connection& connection) {
  return connection.active || connection.proven ||
         connection.datagrams_out < kMostForEach * connection.datagrams_in;
}

}  // namespace

void Transmission::send(Connection& connection, const mad::Mad& mad) {
  connection.sent = mad;
  repeat(connection);
}

bool Transmission::repeat(Connection& connection) {
  if (!may_transmit(connection)) {
    host_.explain(because(ReasonId::cm_unproven, connection.last_message(), connection.datagrams_in,
                          connection.peer.remote.high_half(), connection.peer.remote.low_half()),
                  connection.peer);
    return false;
  }
  ++connection.datagrams_out;
  host_.send(connection.peer, connection.sent);
  return true;
}

void Transmission::send_until_answered(Connection& connection, const mad::Mad& mad, TimePoint now) {
  connection.sends = 1;
  connection.first_sent = now;
  connection.interval = connection.answer_within;
  table_.set_due(connection, now + connection.interval);
  send(connection, mad);
}

// What may not be sent leaves one wait of the same length as all the repetitions together.
bool Transmission::repeat_in_time(Connection& connection, TimePoint now) {
  if (connection.sends > connection.max_retries) return false;
  if (repeat(connection)) {
    ++connection.sends;
    table_.set_due(connection, now + connection.interval);
    return true;
  }
  const std::uint32_t left = connection.max_retries + 1 - connection.sends;
  connection.sends = connection.max_retries + 1;
  table_.set_due(connection, now + left * connection.interval);
  return true;
}

// A passive side that does not know this side repeats its REP a few times only, see repeat(), and every one
// of them may get lost; so may the answers.
void Transmission::repeat_rtu(Connection& connection, TimePoint now) {
  constexpr std::uint32_t kRtus = 3;
  if (++connection.sends < kRtus) table_.set_due(connection, now + connection.interval);
  repeat(connection);
}

}  // namespace softrnic::cm
