// The active side: from connect() to the reply event.
#include <cerrno>

#include "base/reason_id.h"
#include "iwcm/manager.h"
#include "iwcm/wishes.h"

namespace softrnic::iwcm {

using iwarp::MpaInitiator;

Expected<Id, Failure> Manager::connect(const Request& request, TimePoint now) {
  const bool room = has_room(Side::active, request.user);
  if (!room && table_.queued(request.user) >= limits_.queued_of_user)
    return Unexpected{no_room(request.user)};
  const auto fits = iwarp::check_private_data(request.offer.private_data, wire::kMpaHighestRevision);
  if (!fits) return Unexpected{Failure{EINVAL, fits.error()}};
  Connection& connection = table_.add(room ? State::opening : State::queued, ListenerId(0), request.user);
  connection.wanted_local = connection.local = request.local;
  connection.remote = request.remote;
  connection.ird = within_format(request.offer.ird);
  connection.ord = within_format(request.offer.ord);
  connection.tos = request.tos;
  connection.demands = request.demands;
  connection.asks_until = now + limits_.refused_patience;
  connection.private_data.assign(request.offer.private_data.begin(), request.offer.private_data.end());
  if (!room) {
    table_.set_deadline(connection, now + limits_.connect_timeout);
  } else if (const auto opens = open(connection, now); !opens) {
    table_.erase(connection);
    return Unexpected{opens.error()};
  }
  return connection.id;
}

Connection* Manager::next_to_open() const {
  return table_.first_queued([this](std::uint32_t user) { return has_room(Side::active, user); });
}

void Manager::open_queued(TimePoint now) {
  while (Connection* const connection = next_to_open()) {
    connection->asks_until = now + limits_.refused_patience;
    open_again(*connection, now);
  }
}

Expected<void, Failure> Manager::open(Connection& connection, TimePoint now) {
  const auto opens = streams_.open(connection.id, connection.wanted_local, connection.remote, connection.tos);
  if (!opens) return opens;
  table_.move(connection, State::opening);
  table_.set_deadline(connection, now + limits_.connect_timeout);
  return {};
}

void Manager::open_again(Connection& connection, TimePoint now) {
  if (const auto opens = open(connection, now); !opens)
    fail(connection, -opens.error().error, opens.error().reason);
}

// Servers tell their clients by other means that they are ready, some of them before they call rdma_listen:
// see cma/early_requests.h. Of a port at another host nobody knows whether its program lives.
void Manager::ask_later(Connection& connection, TimePoint now) {
  streams_.close(connection.id);
  table_.move(connection, State::refused);
  table_.set_deadline(connection, now + limits_.refused_retry);
}

void Manager::opened(Id stream, const Endpoint& local, TimePoint now) {
  Connection* const connection = table_.find(stream);
  if (connection == nullptr || connection->state != State::opening) return;
  connection->local = local;
  iwarp::MpaOptions wanted = wishes(connection->demands, limits_.reply_timeout);
  wanted.revision = connection->revision;
  wanted.ird = connection->ird;
  wanted.ord = connection->ord;
  connection->initiator = std::make_unique<MpaInitiator>(wanted, connection->private_data, now);
  table_.move(*connection, State::initiating);
  table_.set_deadline(*connection, connection->initiator->deadline());
  const std::size_t bytes = connection->initiator->output().size();
  if (!flush(*connection, *connection->initiator))
    fail(*connection, -ECONNRESET, because(ReasonId::iwcm_write, bytes));
}

void Manager::reply_came(Connection& connection, TimePoint now) {
  MpaInitiator& initiator = *connection.initiator;
  switch (initiator.state()) {
    case MpaInitiator::State::waiting:
      return;
    case MpaInitiator::State::rejected:
      return fail(connection, -ECONNREFUSED, because(ReasonId::iwcm_rejected));
    case MpaInitiator::State::failed:
      (void)flush(connection, initiator);  // a Terminate message
      return fail(connection, -EINVAL, initiator.reason());
    case MpaInitiator::State::refused:
      // Perhaps a peer that knows revision 1 alone, which closes what it does not understand.
      streams_.close(connection.id);
      connection.revision = 1;
      return open_again(connection, now);
    case MpaInitiator::State::established:
      break;
  }
  const std::unique_ptr<MpaInitiator> done = std::move(connection.initiator);
  establish(connection, done->agreement());
  Event event;
  event.kind = EventKind::reply;
  event.id = connection.id;
  event.local = connection.local;
  event.remote = connection.remote;
  event.ird = connection.agreement.ird;
  event.ord = connection.agreement.ord;
  event.private_data = done->private_data();
  host_.event(event);
  close_if_due(event.id);
}

void Manager::fail(Connection& connection, int status, const Reason& reason) {
  const std::unique_ptr<MpaInitiator> done = std::move(connection.initiator);
  part(connection);
  Event event;
  event.kind = EventKind::reply;
  event.id = connection.id;
  event.local = connection.local;
  event.remote = connection.remote;
  event.status = status;
  event.reason = reason;
  if (done != nullptr && done->state() == MpaInitiator::State::rejected)
    event.private_data = done->private_data();
  host_.event(event);
}

}  // namespace softrnic::iwcm
