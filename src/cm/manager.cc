#include "cm/incoming.h"

namespace softrnic::cm {
namespace {

/// What goes to an address that may be forged, for each datagram from there (RFC 9000 8.1). All of CM's are
/// of one length.
constexpr std::uint32_t kMostForEach = 3;

Burden burden_of(const Connection& connection) {
  const Burden while_open = connection.proven ? Burden::none : Burden::half_open;
  switch (connection.state) {
    case State::req_received:
      if (connection.held == nullptr) return while_open;
      return connection.asked ? Burden::asked : Burden::held;
    case State::mra_req_sent:
    case State::rep_sent:
    case State::mra_rep_received:
    case State::sidr_req_received:
      return while_open;
    case State::timewait:
      return connection.refused && !connection.active ? Burden::refused : Burden::none;
    default:
      return Burden::none;
  }
}

}  // namespace

mad::Address address_of(const Path& path) {
  mad::Address address;
  address.local = path.local;
  address.remote = path.remote;
  address.interface_index = path.interface_index;
  address.pkey = path.pkey;
  address.traffic_class = path.traffic_class;
  address.hop_limit = path.hop_limit;
  address.flow_label = path.flow_label;
  return address;
}

std::optional<Id> Manager::free_id() {
  if (table_.size() >= limits_.connections) return std::nullopt;
  for (;;) {
    const std::uint32_t id = host_.random_number();
    if (id != 0 && table_.find(id) == nullptr && !listeners_.contains(Id(id))) return Id(id);
  }
}

Expected<Connection*, Failure> Manager::claim(Id id, std::initializer_list<State> states) {
  Connection* const found = table_.find(id.value);
  if (found == nullptr || found->hidden) return Unexpected{refuse(ENOENT, ReasonId::cm_unknown_id, id.value)};
  if (std::find(states.begin(), states.end(), found->state) == states.end()) {
    return Unexpected{refuse(EINVAL, ReasonId::cm_wrong_state, id.value, found->state)};
  }
  return found;
}

void Manager::tell(const Connection& connection, Event event) {
  if (connection.hidden) return;
  event.id = connection.id;
  host_.event(event);
}

void Manager::enter(Connection& connection, State state) {
  connection.state = state;
  table_.set_burden(connection, burden_of(connection));
  table_.set_due(connection, kNever);
}

void Manager::send(Connection& connection, const mad::Mad& mad) {
  connection.sent = mad;
  transmit(connection);
}

bool Manager::may_transmit(const Connection& connection) const {
  return connection.active || connection.proven ||
         connection.datagrams_out < kMostForEach * connection.datagrams_in;
}

bool Manager::transmit(Connection& connection) {
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

void Manager::prove(Connection& connection) {
  if (connection.proven) return;
  connection.proven = true;
  table_.set_burden(connection, burden_of(connection));
}

void Manager::send_until_answered(Connection& connection, const mad::Mad& mad, TimePoint now) {
  connection.sends = 1;
  connection.first_sent = now;
  connection.interval = connection.answer_within;
  table_.set_due(connection, now + connection.interval);
  send(connection, mad);
}

void Manager::enter_timewait(Connection& connection, TimePoint now) {
  enter(connection, State::timewait);
  table_.forget_queue_pair(connection);
  Duration hold = 2 * connection.life_time + connection.ack_delay;
  if (connection.last_message() == Message::rej || connection.sidr) {
    hold = std::max(hold, connection.peer_interval + connection.peer_interval / 4);
  }
  table_.set_due(connection, now + hold);
}

void Manager::retire(Connection& connection) {
  enter(connection, State::idle);
  table_.forget_queue_pair(connection);
  if (connection.hidden) table_.erase(connection);
}

void Manager::conclude(Connection& connection, Event event) {
  const bool tells = !connection.hidden;
  event.id = connection.id;
  retire(connection);
  if (tells) host_.event(event);
}

void Manager::expire(Connection& connection, TimePoint now) {
  table_.set_due(connection, kNever);
  if (connection.held != nullptr) return retire(connection);
  if (connection.state == State::established) return repeat_rtu(connection, now);
  if (connection.state != State::timewait) return repeat_or_give_up(connection, now);
  if (connection.sidr) return retire(connection);
  conclude(connection, {.kind = EventKind::timewait_exit});
}

void Manager::repeat_or_give_up(Connection& connection, TimePoint now) {
  if (connection.sends <= connection.max_retries) return repeat_on_time(connection, now);
  switch (connection.state) {
    case State::req_sent:
    case State::mra_req_received:
      return on_req_timeout(connection, now);
    case State::rep_sent:
    case State::mra_rep_received:
      return on_rep_timeout(connection, now);
    case State::dreq_sent:
      return on_dreq_timeout(connection, now);
    case State::sidr_req_sent:
      return on_sidr_timeout(connection);
    default:
      return;
  }
}

// What may not be sent leaves one wait of the same length as all the repetitions together.
void Manager::repeat_on_time(Connection& connection, TimePoint now) {
  if (transmit(connection)) {
    ++connection.sends;
    return table_.set_due(connection, now + connection.interval);
  }
  const std::uint32_t left = connection.max_retries + 1 - connection.sends;
  connection.sends = connection.max_retries + 1;
  table_.set_due(connection, now + left * connection.interval);
}

// Nobody answers an RTU. A passive side that does not know this side repeats its REP a few times only, see
// may_transmit(), and every one of them may get lost; so may the answers.
void Manager::repeat_rtu(Connection& connection, TimePoint now) {
  constexpr std::uint32_t kRtus = 3;
  if (++connection.sends < kRtus) table_.set_due(connection, now + connection.interval);
  transmit(connection);
}

void Manager::advance(TimePoint now) {
  for (;;) {
    Connection* const next = table_.first_due();
    if (next == nullptr || next->due > now) return;
    expire(*next, now);
  }
}

TimePoint Manager::deadline() const {
  const Connection* const next = table_.first_due();
  return next == nullptr ? kNever : next->due;
}

std::optional<State> Manager::state(Id id) const {
  const Connection* const found = table_.find(id.value);
  if (found == nullptr || found->hidden) return std::nullopt;
  return found->state;
}

Expected<Id, Failure> Manager::listen(ServiceId service_id, std::uint64_t mask) {
  const auto id = free_id();
  if (!id) return Unexpected{refuse(EMFILE, ReasonId::cm_too_many_ids, table_.size())};
  if (!listeners_.add(*id, service_id, mask)) {
    return Unexpected{refuse(EADDRINUSE, ReasonId::cm_service_in_use, service_id.value)};
  }
  return *id;
}

}  // namespace softrnic::cm
