#include "cm/connection_table.h"

namespace softrnic::cm {
namespace {

template <typename Key>
Connection* find_in(const std::map<Key, Connection*>& map, const Key& key) {
  const auto found = map.find(key);
  return found == map.end() ? nullptr : found->second;
}

RemoteKey key_of(const Connection& connection, std::uint32_t number) {
  return {connection.peer.remote, connection.remote_ca_guid, number};
}

}  // namespace

Connection& ConnectionTable::add(Id id) {
  auto& slot = by_id_[id.value];
  slot = std::make_unique<Connection>();
  slot->id = id;
  return *slot;
}

void ConnectionTable::erase(Connection& connection) {
  set_due(connection, kNever);
  set_burden(connection, Burden::none);
  forget_queue_pair(connection);
  forget_request(connection);
  by_id_.erase(connection.id.value);
}

Connection* ConnectionTable::find(std::uint32_t id) const {
  const auto found = by_id_.find(id);
  return found == by_id_.end() ? nullptr : found->second.get();
}

void ConnectionTable::index_request(Connection& connection) {
  connection.in_requests =
      requests_.try_emplace(key_of(connection, connection.remote_id), &connection).second;
}

Connection* ConnectionTable::find_request(const wire::Gid& gid, std::uint64_t ca_guid,
                                          std::uint32_t remote_id) const {
  return find_in(requests_, {gid, ca_guid, remote_id});
}

void ConnectionTable::forget_request(Connection& connection) {
  if (connection.in_requests) requests_.erase(key_of(connection, connection.remote_id));
  if (connection.in_sidr) sidr_.erase({connection.peer.remote, connection.remote_id});
  connection.in_requests = connection.in_sidr = false;
}

void ConnectionTable::index_queue_pair(Connection& connection) {
  connection.in_queue_pairs =
      queue_pairs_.try_emplace(key_of(connection, connection.remote_qpn.value), &connection).second;
}

void ConnectionTable::forget_queue_pair(Connection& connection) {
  if (connection.in_queue_pairs) queue_pairs_.erase(key_of(connection, connection.remote_qpn.value));
  connection.in_queue_pairs = false;
}

Connection* ConnectionTable::find_same_queue_pair(const Connection& connection) const {
  Connection* const found = find_in(queue_pairs_, key_of(connection, connection.remote_qpn.value));
  return found == &connection ? nullptr : found;
}

void ConnectionTable::index_sidr(Connection& connection) {
  connection.in_sidr = sidr_.try_emplace({connection.peer.remote, connection.remote_id}, &connection).second;
}

Connection* ConnectionTable::find_sidr(const wire::Gid& gid, std::uint32_t request_id) const {
  return find_in(sidr_, {gid, request_id});
}

void ConnectionTable::set_burden(Connection& connection, Burden burden) {
  if (connection.burden == burden) return;
  const wire::Gid& peer = connection.peer.remote;
  if (connection.burden != Burden::none) {
    Bearers& before = burdens_[static_cast<std::size_t>(connection.burden)];
    before.all.erase(connection.burden_order);
    const auto found = before.of_peer.find(peer);
    found->second.erase(connection.burden_order);
    if (found->second.empty()) before.of_peer.erase(found);
  }
  connection.burden = burden;
  if (burden == Burden::none) return;
  connection.burden_order = next_order_++;
  Bearers& now = burdens_[static_cast<std::size_t>(burden)];
  now.all.emplace(connection.burden_order, &connection);
  now.of_peer[peer].emplace(connection.burden_order, &connection);
}

std::size_t ConnectionTable::burden(Burden burden, const wire::Gid& peer) const {
  const auto& of_peer = bearers_of(burden).of_peer;
  const auto found = of_peer.find(peer);
  return found == of_peer.end() ? 0 : found->second.size();
}

Connection* ConnectionTable::oldest(Burden burden) const {
  const InOrder& all = bearers_of(burden).all;
  return all.empty() ? nullptr : all.begin()->second;
}

Connection* ConnectionTable::oldest(Burden burden, const wire::Gid& peer) const {
  const auto& of_peer = bearers_of(burden).of_peer;
  const auto found = of_peer.find(peer);
  return found == of_peer.end() ? nullptr : found->second.begin()->second;
}

void ConnectionTable::set_due(Connection& connection, TimePoint due) {
  if (connection.due != kNever) deadlines_.erase({connection.due, connection.id.value});
  connection.due = due;
  if (due != kNever) deadlines_.emplace(due, connection.id.value);
}

Connection* ConnectionTable::first_due() const {
  return deadlines_.empty() ? nullptr : find(deadlines_.begin()->second);
}

}  // namespace softrnic::cm
