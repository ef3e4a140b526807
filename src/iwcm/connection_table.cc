#include "iwcm/connection_table.h"

namespace softrnic::iwcm {

Connection& ConnectionTable::add(State state) {
  while (next_ == 0 || all_.contains(next_)) ++next_;
  auto made = std::make_unique<Connection>();
  made->id = Id(next_++);
  made->state = state;
  Connection& connection = *all_.emplace(made->id.value, std::move(made)).first->second;
  count(connection, true);
  return connection;
}

void ConnectionTable::erase(Connection& connection) {
  count(connection, false);
  set_deadline(connection, kNever);
  set_token(connection, 0);
  all_.erase(connection.id.value);
}

Connection* ConnectionTable::find(Id id) const {
  const auto found = all_.find(id.value);
  return found == all_.end() ? nullptr : found->second.get();
}

Connection* ConnectionTable::with_token(std::uint64_t token) const {
  const auto found = by_token_.find(token);
  return found == by_token_.end() ? nullptr : found->second;
}

void ConnectionTable::count(const Connection& connection, bool in) {
  if (is_set_up(connection.state)) set_up_ += in ? 1 : std::size_t(-1);
  if (connection.state != State::waiting) return;
  if (in) {
    waiting_.emplace(next_turn_, find(connection.id));
    turns_[connection.id.value] = next_turn_++;
  } else {
    const auto turn = turns_.extract(connection.id.value);
    waiting_.erase(turn.mapped());
  }
}

void ConnectionTable::move(Connection& connection, State to) {
  count(connection, false);
  connection.state = to;
  count(connection, true);
}

void ConnectionTable::set_token(Connection& connection, std::uint64_t token) {
  if (connection.token != 0) by_token_.erase(connection.token);
  connection.token = token;
  if (token != 0) by_token_.emplace(token, &connection);
}

void ConnectionTable::set_deadline(Connection& connection, TimePoint deadline) {
  if (connection.deadline != kNever) due_.erase({connection.deadline, connection.id.value});
  connection.deadline = deadline;
  if (deadline != kNever) due_.emplace(deadline, connection.id.value);
}

Connection* ConnectionTable::due(TimePoint now) const {
  return deadline() <= now ? find(Id(due_.begin()->second)) : nullptr;
}

Connection* ConnectionTable::oldest_waiting() const {
  return waiting_.empty() ? nullptr : waiting_.begin()->second;
}

std::vector<Connection*> ConnectionTable::all_waiting() const {
  std::vector<Connection*> all;
  for (const auto& [turn, connection] : waiting_) all.push_back(connection);
  return all;
}

}  // namespace softrnic::iwcm
