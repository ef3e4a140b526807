#include "iwcm/manager.h"

#include <algorithm>
#include <cerrno>
#include <chrono>

#include "base/reason_id.h"
#include "iwcm/wishes.h"

namespace softrnic::iwcm {
namespace {

using iwarp::MpaInitiator;
using iwarp::MpaResponder;

std::int64_t milliseconds(Duration duration) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(duration).count();
}

/// The peer has closed, and not the network failed.
bool is_close(int error) { return error == 0 || error == EPIPE || error == ECONNRESET; }

/// Of TCP, or of a stream that ended without a word, as the kernel's iw_cm has it.
int status_of(int error) { return error == 0 || error == EPIPE ? -ECONNRESET : -error; }

Reason no_connection(const Connection& connection, int error) {
  return because(ReasonId::iwcm_connect, connection.remote.port, error, connection.remote.host.high_half(),
                 connection.remote.host.low_half());
}

Unexpected<Failure> not_a_request() { return Unexpected{refuse(EINVAL, ReasonId::iwcm_state)}; }

}  // namespace

std::string_view name_of(EventKind kind) {
  constexpr std::string_view kNames[] = {"request", "given_up", "reply", "established", "closed"};
  const auto index = static_cast<std::size_t>(kind);
  return index < std::size(kNames) ? kNames[index] : "?";
}

std::size_t Manager::held_by(std::uint32_t user) const {
  const auto listening = listeners_of_.find(user);
  return table_.of_user(user) + (listening != listeners_of_.end() ? listening->second : 0);
}

bool Manager::has_room(Side side, std::uint32_t user) const {
  const bool shared =
      side == Side::active ? table_.active() < limits_.active : table_.passive() < limits_.passive;
  return shared && held_by(user) < limits_.of_user;
}

Failure Manager::no_room(std::uint32_t user) const {
  return refuse(EMFILE, ReasonId::iwcm_room, std::max(with_socket(), held_by(user)));
}

// ---- passive side

Expected<ListenerId, Failure> Manager::listen(const Listening& listening) {
  if (held_by(listening.user) >= limits_.of_user) return Unexpected{no_room(listening.user)};
  while (next_listener_ == 0 || listeners_.contains(next_listener_)) ++next_listener_;
  const ListenerId listener(next_listener_);
  if (const auto listens = streams_.listen(listener, listening); !listens) return Unexpected{listens.error()};
  const auto wanted = static_cast<std::size_t>(std::max(listening.backlog, 0));
  listeners_[next_listener_++] = {listening.user, std::max(wanted, limits_.least_backlog), listening.demands};
  ++listeners_of_[listening.user];
  return listener;
}

void Manager::unlisten(ListenerId listener) {
  const auto gone = listeners_.extract(listener.value);
  if (gone.empty()) return;
  if (--listeners_of_[gone.mapped().user] == 0) listeners_of_.erase(gone.mapped().user);
  streams_.unlisten(listener);
  for (Connection* waiting : table_.all_waiting(listener)) {
    streams_.close(waiting->id);
    table_.erase(*waiting);
  }
}

Connection* Manager::first_elsewhere(std::uint32_t user) const {
  const auto whose = held_by(user) >= limits_.of_user ? std::optional(user) : std::nullopt;
  return table_.first_of_most_waiting(whose);
}

// Who says nothing makes room for who may say something: at the same listener, else where most say nothing.
void Manager::make_room(ListenerId listener, std::size_t backlog, std::uint32_t user) {
  if (table_.waiting(listener) < backlog / 2 && has_room(Side::passive, user)) return;
  const std::vector<Connection*> silent = table_.all_waiting(listener);
  Connection* const goes = silent.empty() ? first_elsewhere(user) : silent.front();
  if (goes != nullptr) drop(*goes, because(ReasonId::iwcm_flood, table_.waiting(goes->listener)));
}

// Those who have not asked yet are no reason to wait: they are displaced.
bool Manager::takes_another(ListenerId listener) const {
  const auto at = listeners_.find(listener.value);
  if (at == listeners_.end() || table_.requested(listener) >= at->second.backlog / 2) return false;
  const std::uint32_t user = at->second.user;
  return has_room(Side::passive, user) || first_elsewhere(user) != nullptr;
}

Id Manager::incoming(ListenerId listener, const Endpoint& local, const Endpoint& remote, TimePoint now) {
  const auto at = listeners_.find(listener.value);
  if (at == listeners_.end()) return Id(0);
  const std::uint32_t user = at->second.user;
  make_room(listener, at->second.backlog, user);
  if (!has_room(Side::passive, user)) {
    host_.explain(no_room(user).reason, remote);
    return Id(0);
  }
  Connection& connection = table_.add(State::waiting, listener, user);
  connection.local = local;
  connection.remote = remote;
  connection.responder =
      std::make_unique<MpaResponder>(wishes(at->second.demands, limits_.request_timeout), now);
  table_.set_deadline(connection, connection.responder->deadline());
  return connection.id;
}

bool Manager::has_backlog(const Connection& connection) const {
  const auto at = listeners_.find(connection.listener.value);
  return at != listeners_.end() && table_.requested(connection.listener) < at->second.backlog;
}

void Manager::request_came(Connection& connection, TimePoint now) {
  MpaResponder& responder = *connection.responder;
  if (responder.state() == MpaResponder::State::failed) return drop(connection, responder.reason());
  if (responder.state() != MpaResponder::State::requested) return;
  if (!has_backlog(connection)) {
    (void)responder.reject({});
    (void)flush(connection, responder);
    return drop(connection, because(ReasonId::cma_backlog_full, connection.local.port,
                                    table_.requested(connection.listener)));
  }
  table_.move(connection, State::requested);
  table_.set_deadline(connection, now + limits_.answer_timeout);
  Event event;
  event.kind = EventKind::request;
  event.id = connection.id;
  event.listener = connection.listener;
  event.local = connection.local;
  event.remote = connection.remote;
  event.ird = responder.peer_ird();
  event.ord = responder.peer_ord();
  event.private_data = responder.private_data();
  host_.event(event);
}

Expected<void, Failure> Manager::accept(Id id, const Offer& answer) {
  Connection* const connection = table_.find(id);
  if (connection == nullptr || connection->responder == nullptr) return not_a_request();
  MpaResponder& responder = *connection->responder;
  if (connection->state == State::over) return Unexpected{refuse(ECONNRESET, ReasonId::iwcm_given_up)};
  if (connection->state != State::requested) return not_a_request();
  const auto fits =
      responder.accept(within_format(answer.ird), within_format(answer.ord), answer.private_data);
  if (!fits) return Unexpected{Failure{EINVAL, fits.error()}};
  const std::size_t bytes = responder.output().size();
  if (!flush(*connection, responder)) {
    part(*connection);
    return Unexpected{refuse(ECONNRESET, ReasonId::iwcm_write, bytes)};
  }
  iwarp::MpaAgreement agreement = responder.agreement();
  if (agreement.waits_for_peer == iwarp::WaitForPeer::bounded && table_.is_of_this_host(*connection))
    agreement.waits_for_peer = iwarp::WaitForPeer::none;  // it reads the reply and not a byte more
  establish(*connection, agreement);
  return {};
}

Expected<void, Failure> Manager::reject(Id id, Bytes private_data) {
  Connection* const connection = table_.find(id);
  if (connection == nullptr || connection->responder == nullptr) return not_a_request();
  if (connection->state == State::over) return {};  // the peer has gone already
  if (connection->state != State::requested) return not_a_request();
  const auto fits = connection->responder->reject(private_data);
  if (!fits) return Unexpected{Failure{EINVAL, fits.error()}};
  (void)flush(*connection, *connection->responder);
  part(*connection);
  return {};
}

Expected<void, Failure> Manager::confirm(Id id) {
  Connection* const connection = table_.find(id);
  const bool accepted = connection != nullptr && connection->state == State::established &&
                        connection->listener.value != 0 && !connection->confirmed;
  if (!accepted) return not_a_request();
  connection->confirmed = true;
  Event event;
  event.kind = EventKind::established;
  event.id = id;
  event.ird = connection->agreement.ird;
  event.ord = connection->agreement.ord;
  host_.event(event);
  close_if_due(id);
  return {};
}

void Manager::drop(Connection& connection, const Reason& reason) {
  host_.explain(reason, connection.remote);
  streams_.close(connection.id);
  table_.erase(connection);
}

void Manager::give_up(Connection& connection) {
  part(connection);
  Event event;
  event.kind = EventKind::given_up;
  event.id = connection.id;
  event.reason = because(ReasonId::iwcm_given_up);
  host_.event(event);
}

// ---- both sides

std::uint64_t Manager::new_token() {
  for (;;) {
    const std::uint64_t high = host_.random_number();
    const std::uint64_t token = (high << 32) | host_.random_number();
    if (token != 0 && table_.with_token(token) == nullptr) return token;
  }
}

void Manager::establish(Connection& connection, const iwarp::MpaAgreement& agreement) {
  connection.agreement = agreement;
  connection.responder.reset();
  connection.private_data = {};
  table_.move(connection, State::established);
  table_.set_deadline(connection, kNever);
  table_.set_token(connection, new_token());
  streams_.hand_over(connection.id);
}

void Manager::part(Connection& connection) {
  streams_.close(connection.id);
  table_.set_token(connection, 0);
  table_.set_deadline(connection, kNever);
  table_.move(connection, State::over);
}

void Manager::close(Connection& connection, int status, const Reason& reason) {
  part(connection);
  Event event;
  event.kind = EventKind::closed;
  event.id = connection.id;
  event.status = status;
  event.reason = reason;
  host_.event(event);
}

void Manager::close_if_due(Id id) {
  Connection* const connection = table_.find(id);
  if (connection == nullptr || connection->state != State::established) return;
  if (connection->ended_early || connection->wants_end) close(*connection, 0, {});
}

// As Linux's iw_cm_disconnect, which waits for a connect that is under way, and then closes.
void Manager::disconnect(Id id, TimePoint now) {
  Connection* const connection = table_.find(id);
  if (connection == nullptr) return;
  if (connection->state < State::waiting) connection->wants_end = true;
  if (connection->state != State::established) return;
  if (!connection->taken || connection->ended_early) return close(*connection, 0, {});
  if (connection->deadline == kNever) table_.set_deadline(*connection, now + limits_.disconnect_timeout);
}

void Manager::destroy(Id id) {
  Connection* const connection = table_.find(id);
  if (connection == nullptr) return;
  if (connection->state == State::requested) {
    (void)connection->responder->reject({});
    (void)flush(*connection, *connection->responder);
  }
  streams_.close(id);
  table_.erase(*connection);
}

Id Manager::other_end(Id id) const {
  const Connection* const connection = table_.find(id);
  if (connection == nullptr || connection->listener.value == 0) return Id(0);
  const Connection* const other = table_.initiating(connection->remote, connection->local);
  return other != nullptr ? other->id : Id(0);
}

const iwarp::MpaAgreement* Manager::agreement(Id id) const {
  const Connection* const connection = table_.find(id);
  return connection != nullptr && connection->state == State::established ? &connection->agreement : nullptr;
}

void Manager::taken(Id id) {
  if (Connection* const connection = table_.find(id)) table_.set_taken(*connection);
}

std::uint64_t Manager::token(Id id) const {
  const Connection* const connection = table_.find(id);
  return connection != nullptr ? connection->token : 0;
}

Id Manager::with_token(std::uint64_t token) const {
  const Connection* const connection = table_.with_token(token);
  return connection != nullptr ? connection->id : Id(0);
}

bool Manager::stream_over(std::uint64_t token) {
  Connection* const connection = table_.with_token(token);
  if (connection == nullptr) return false;
  if (connection->listener.value != 0 && !connection->confirmed) {
    connection->ended_early = true;
  } else {
    close(*connection, 0, {});
  }
  return true;
}

// ---- streams

std::size_t Manager::wanted(Id stream) const {
  const Connection* const connection = table_.find(stream);
  if (connection == nullptr) return 0;
  if (connection->initiator != nullptr) return connection->initiator->wanted();
  return connection->responder != nullptr ? connection->responder->wanted() : 0;
}

void Manager::received(Id stream, Bytes bytes, TimePoint now) {
  Connection* const connection = table_.find(stream);
  if (connection == nullptr || bytes.empty()) return;
  switch (connection->state) {
    case State::initiating:
      connection->initiator->receive(bytes);
      return reply_came(*connection, now);
    case State::waiting:
      connection->responder->receive(bytes);
      return request_came(*connection, now);
    case State::requested:
      // RFC 5044 7.1.2: an initiator sends nothing before it has the reply
      connection->responder->receive(bytes);
      host_.explain(connection->responder->reason(), connection->remote);
      return give_up(*connection);
    default:
      return;
  }
}

void Manager::ended(Id stream, int error, TimePoint now) {
  Connection* const connection = table_.find(stream);
  if (connection == nullptr) return;
  switch (connection->state) {
    case State::opening:
      if (error == ECONNREFUSED && now + limits_.refused_retry <= connection->asks_until)
        return ask_later(*connection, now);
      return fail(*connection, status_of(error), no_connection(*connection, error));
    case State::initiating:
      if (!is_close(error)) return fail(*connection, status_of(error), no_connection(*connection, error));
      connection->initiator->stream_ended();
      if (connection->initiator->state() == MpaInitiator::State::refused) return reply_came(*connection, now);
      return fail(*connection, status_of(error), connection->initiator->reason());
    case State::waiting:
      connection->responder->stream_ended();
      return drop(*connection, connection->responder->reason());
    case State::requested:
      return give_up(*connection);
    default:
      return;
  }
}

// ---- time

void Manager::advance(TimePoint now) {
  while (Connection* const connection = table_.due(now)) expire(*connection, now);
  open_queued(now);
}

void Manager::expire(Connection& connection, TimePoint now) {
  switch (connection.state) {
    case State::queued:
      return fail(connection, -ETIMEDOUT, no_room(connection.user).reason);
    case State::opening:
      return fail(
          connection, -ETIMEDOUT,
          because(ReasonId::iwcm_connect_slow, connection.remote.port, milliseconds(limits_.connect_timeout),
                  connection.remote.host.high_half(), connection.remote.host.low_half()));
    case State::refused:
      return open_again(connection, now);
    case State::initiating:
      connection.initiator->expire(now);
      return fail(connection, -ETIMEDOUT, connection.initiator->reason());
    case State::waiting:
      connection.responder->expire(now);
      return drop(connection, connection.responder->reason());
    case State::requested:
      return give_up(connection);
    case State::established:
      return close(connection, -ETIMEDOUT,
                   because(ReasonId::iwcm_disconnect, milliseconds(limits_.disconnect_timeout)));
    default:
      return table_.set_deadline(connection, kNever);
  }
}

}  // namespace softrnic::iwcm
