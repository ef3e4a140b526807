#include "iwcm/connection_table.h"

namespace softrnic::iwcm {
namespace {

bool has_socket(const Connection& connection) {
  return connection.state != State::over && connection.state != State::queued && !connection.taken;
}

template <typename Key>
void take_one(std::map<Key, std::size_t>& counts, Key key) {
  const auto found = counts.find(key);
  if (--found->second == 0) counts.erase(found);
}

}  // namespace

Connection& ConnectionTable::add(State state, ListenerId listener, std::uint32_t user) {
  while (next_ == 0 || all_.contains(next_)) ++next_;
  auto made = std::make_unique<Connection>();
  made->id = Id(next_++);
  made->state = state;
  made->listener = listener;
  made->user = user;
  Connection& connection = *all_.emplace(made->id.value, std::move(made)).first->second;
  enter(connection);
  return connection;
}

void ConnectionTable::erase(Connection& connection) {
  leave(connection);
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

Connection* ConnectionTable::initiating(const Endpoint& local, const Endpoint& remote) const {
  const auto found = initiating_.find({local, remote});
  return found == initiating_.end() ? nullptr : found->second;
}

bool ConnectionTable::is_of_this_host(const Connection& passive) const {
  const wire::Gid& local = passive.local.host;
  const wire::Gid& remote = passive.remote.host;
  return local == remote || (local.is_ipv4_loopback() && remote.is_ipv4_loopback()) ||
         initiating(passive.remote, passive.local) != nullptr;
}

void ConnectionTable::enter(Connection& connection) {
  if (connection.state == State::initiating) initiating_[{connection.local, connection.remote}] = &connection;
  if (connection.state == State::queued) queued_[connection.user].insert(connection.id.value);
  if (has_socket(connection)) {
    ++(connection.listener.value == 0 ? active_ : passive_);
    ++users_[connection.user];
  }
  if (connection.state == State::waiting) {
    connection.turn = next_turn_++;
    listeners_[connection.listener].waiting.emplace(connection.turn, &connection);
  } else if (connection.state == State::requested) {
    ++listeners_[connection.listener].requested;
  }
}

void ConnectionTable::leave(const Connection& connection) {
  if (connection.state == State::initiating) initiating_.erase({connection.local, connection.remote});
  if (connection.state == State::queued) {
    const auto of_user = queued_.find(connection.user);
    of_user->second.erase(connection.id.value);
    if (of_user->second.empty()) queued_.erase(of_user);
  }
  if (has_socket(connection)) {
    --(connection.listener.value == 0 ? active_ : passive_);
    take_one(users_, connection.user);
  }
  const auto at = listeners_.find(connection.listener);
  if (at == listeners_.end()) return;
  if (connection.state == State::waiting) at->second.waiting.erase(connection.turn);
  if (connection.state == State::requested) --at->second.requested;
  if (at->second.waiting.empty() && at->second.requested == 0) listeners_.erase(at);
}

void ConnectionTable::move(Connection& connection, State to) {
  leave(connection);
  connection.state = to;
  enter(connection);
}

void ConnectionTable::set_taken(Connection& connection) {
  leave(connection);
  connection.taken = true;
  enter(connection);
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

std::size_t ConnectionTable::waiting(ListenerId listener) const {
  const auto at = listeners_.find(listener);
  return at == listeners_.end() ? 0 : at->second.waiting.size();
}

std::size_t ConnectionTable::requested(ListenerId listener) const {
  const auto at = listeners_.find(listener);
  return at == listeners_.end() ? 0 : at->second.requested;
}

std::vector<Connection*> ConnectionTable::all_waiting(ListenerId listener) const {
  std::vector<Connection*> all;
  if (const auto at = listeners_.find(listener); at != listeners_.end())
    for (const auto& [turn, connection] : at->second.waiting) all.push_back(connection);
  return all;
}

Connection* ConnectionTable::first_of_most_waiting(std::optional<std::uint32_t> user) const {
  Connection* first = nullptr;
  std::size_t most = 0;
  for (const auto& [listener, at] : listeners_) {
    if (at.waiting.size() <= most) continue;
    Connection* const candidate = at.waiting.begin()->second;
    if (user && candidate->user != *user) continue;
    first = candidate;
    most = at.waiting.size();
  }
  return first;
}

std::size_t ConnectionTable::queued(std::uint32_t user) const {
  const auto found = queued_.find(user);
  return found == queued_.end() ? 0 : found->second.size();
}

Connection* ConnectionTable::first_queued(const std::function<bool(std::uint32_t user)>& has_room) const {
  for (const auto& [user, ids] : queued_)
    if (has_room(user)) return find(Id(*ids.begin()));
  return nullptr;
}

std::size_t ConnectionTable::of_user(std::uint32_t user) const {
  const auto found = users_.find(user);
  return found == users_.end() ? 0 : found->second;
}

}  // namespace softrnic::iwcm
