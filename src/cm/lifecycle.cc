#include "cm/lifecycle.h"

#include <algorithm>
#include <cerrno>

#include "base/reason_id.h"

namespace softrnic::cm {
namespace {

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

Expected<Id, Failure> Lifecycle::free_id() {
  if (table_.size() >= most_) return Unexpected{refuse(EMFILE, ReasonId::cm_too_many_ids, table_.size())};
  for (;;) {
    const std::uint32_t id = host_.random_number();
    if (id != 0 && table_.find(id) == nullptr && !listeners_.contains(Id(id))) return Id(id);
  }
}

Expected<Connection*, Failure> Lifecycle::claim(Id id, std::initializer_list<State> states) {
  Connection* const found = table_.find(id.value);
  if (found == nullptr || found->hidden) return Unexpected{refuse(ENOENT, ReasonId::cm_unknown_id, id.value)};
  if (std::find(states.begin(), states.end(), found->state) == states.end()) {
    return Unexpected{refuse(EINVAL, ReasonId::cm_wrong_state, id.value, found->state)};
  }
  return found;
}

void Lifecycle::enter(Connection& connection, State state) {
  connection.state = state;
  table_.set_burden(connection, burden_of(connection));
  table_.set_due(connection, kNever);
}

void Lifecycle::enter_timewait(Connection& connection, TimePoint now) {
  enter(connection, State::timewait);
  table_.forget_queue_pair(connection);
  Duration hold = 2 * connection.life_time + connection.ack_delay;
  if (connection.last_message() == Message::rej || connection.sidr) {
    hold = std::max(hold, connection.peer_interval + connection.peer_interval / 4);
  }
  table_.set_due(connection, now + hold);
}

void Lifecycle::prove(Connection& connection) {
  if (connection.proven) return;
  connection.proven = true;
  table_.set_burden(connection, burden_of(connection));
}

void Lifecycle::retire(Connection& connection) {
  enter(connection, State::idle);
  table_.forget_queue_pair(connection);
  if (connection.hidden) table_.erase(connection);
}

void Lifecycle::tell(const Connection& connection, Event event) {
  if (connection.hidden) return;
  event.id = connection.id;
  host_.event(event);
}

void Lifecycle::conclude(Connection& connection, Event event) {
  const bool tells = !connection.hidden;
  event.id = connection.id;
  retire(connection);
  if (tells) host_.event(event);
}

}  // namespace softrnic::cm
