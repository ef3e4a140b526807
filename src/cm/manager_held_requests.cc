// Requests beyond what strangers may make the host do: their senders are asked first whether they are there.
//
// A REQ proves nothing, and to take one costs a program a queue pair, often a thread. Behind ten thousand
// forged ones a second an honest one would wait for seconds, or be given up as the oldest. CM has no message
// that only the sender of a REQ answers. But whoever has a CM answers a DREQ for a connection that it does
// not know with a DREP that repeats both IDs (Linux' ib_cm and this one do), and to do so it has to receive
// what goes to its address. So a stranger's request is kept from the host until such a DREP has come, and
// waits for one round trip, not behind the forged ones.
//
// Who does not answer is told as soon as the allowance has room when it repeats its REQ. A DREP does not
// prove that the REQ was its sender's own (Connection::proven), so all bounds for the unproven hold on. Of
// one address few are asked at a time, and an answer lets the next be asked.
#include "cm/incoming.h"

namespace softrnic::cm {
namespace {

/// Longer than any round trip, shorter than most peers take to repeat a REQ: then it is a new one.
constexpr Duration kPatience = std::chrono::seconds(3);

}  // namespace

void Manager::hold(Connection& connection, const Incoming& in, Burden burden) {
  connection.held = std::make_unique<mad::Mad>();
  std::copy(in.mad.begin(), in.mad.end(), connection.held->begin());
  connection.hidden = true;
  connection.asked = burden == Burden::asked;
  enter(connection, State::req_received);
  table_.set_due(connection, in.now + kPatience);
  if (connection.asked) ask(connection);
}

void Manager::ask(Connection& connection) {
  connection.asked = true;
  table_.set_burden(connection, Burden::asked);
  Dreq dreq;
  dreq.local_id = connection.id.value;
  dreq.remote_id = connection.remote_id;
  dreq.remote_qpn = connection.remote_qpn;
  send(connection, encode(dreq, std::uint64_t{host_.random_number()} << 32 | connection.id.value));
}

void Manager::on_repeated_req(Connection& connection, const Incoming& in) {
  if (connection.held == nullptr) return;
  if (strangers_.take(in.now)) return tell_held(connection, in);
  if (connection.asked) transmit(connection);
}

void Manager::on_sign_of_life(Connection& connection, const Incoming& in) {
  if (connection.held == nullptr) return;
  const wire::Gid peer = connection.peer.remote;
  tell_held(connection, in);
  if (Connection* const next = table_.oldest(Burden::held, peer)) ask(*next);
}

// Under an ID of its own: that of the question may come to the peer late, when it would mean
// the end of a connection.
void Manager::tell_held(Connection& connection, const Incoming& in) {
  const std::unique_ptr<mad::Mad> mad = std::move(connection.held);
  const mad::Address peer = connection.peer;
  const std::uint32_t datagrams_in = connection.datagrams_in, datagrams_out = connection.datagrams_out;
  retire(connection);
  const auto header = mad::parse_header(*mad);  // as it had one when it came
  const Incoming request{peer, *header, *mad, in.now};
  const Req req = decode<Req>(*mad);
  if (!listeners_.find(req.service_id))
    return issue_rej(request, RejectReason::invalid_service_id, About::req);
  if (!make_room(request, Burden::half_open)) return;
  const auto id = free_id();
  if (!id) return;
  Connection& told = add_request(*id, req, request);
  told.datagrams_in = datagrams_in;
  told.datagrams_out = datagrams_out;
  tell_request(told, request);
}

}  // namespace softrnic::cm
