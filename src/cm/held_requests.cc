#include "cm/held_requests.h"

#include <algorithm>
#include <memory>
#include <utility>

namespace softrnic::cm {
namespace {

/// Longer than any round trip, shorter than most peers take to repeat a REQ: then it is a new one.
constexpr Duration kPatience = std::chrono::seconds(3);

}  // namespace

Burden HeldRequests::burden_of_next(const wire::Gid& peer, TimePoint now) {
  if (strangers_.take(now)) return Burden::half_open;
  return table_.burden(Burden::asked, peer) < limits_.asked_peer ? Burden::asked : Burden::held;
}

void HeldRequests::hold(Connection& connection, const Incoming& in, Burden burden) {
  connection.held = std::make_unique<mad::Mad>();
  std::copy(in.mad.begin(), in.mad.end(), connection.held->begin());
  connection.hidden = true;
  connection.asked = burden == Burden::asked;
  lifecycle_.enter(connection, State::req_received);
  table_.set_due(connection, in.now + kPatience);
  if (connection.asked) ask(connection);
}

void HeldRequests::ask(Connection& connection) {
  connection.asked = true;
  table_.set_burden(connection, Burden::asked);
  Dreq dreq;
  dreq.local_id = connection.id.value;
  dreq.remote_id = connection.remote_id;
  dreq.remote_qpn = connection.remote_qpn;
  transmission_.send(connection, encode(dreq, transmission_.new_transaction(connection.id)));
}

bool HeldRequests::repeated(Connection& connection, TimePoint now) {
  if (connection.held == nullptr) return false;
  if (strangers_.take(now)) return true;
  if (connection.asked) transmission_.repeat(connection);
  return false;
}

HeldRequests::Released HeldRequests::release(Connection& connection) {
  const std::unique_ptr<mad::Mad> mad = std::move(connection.held);
  const Released released{*mad, connection.peer, connection.datagrams_in, connection.datagrams_out};
  lifecycle_.retire(connection);
  return released;
}

void HeldRequests::ask_next(const wire::Gid& peer) {
  if (Connection* const next = table_.oldest(Burden::held, peer)) ask(*next);
}

}  // namespace softrnic::cm
