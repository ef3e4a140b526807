// All communication IDs of an adapter, and the ways to find one: by its number, by what the peer
// calls itself, by deadline.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <unordered_map>
#include <utility>

#include "cm/connection.h"

namespace softrnic::cm {

class ConnectionTable {
 public:
  /// A new record; `id` is not in use.
  Connection& add(Id id);
  void erase(Connection& connection);
  /// nullptr: no such id.
  Connection* find(std::uint32_t id) const;
  std::size_t size() const { return by_id_.size(); }

  /// Enters the connection under the peer's GID, remote_ca_guid and remote_id. The number must be free.
  void index_request(Connection& connection);
  Connection* find_request(const wire::Gid& gid, std::uint64_t ca_guid, std::uint32_t remote_id) const;
  /// A repetition of its request, or service ID request, is a new one from now on.
  void forget_request(Connection& connection);
  /// The same under remote_qpn: connections that are alive and whose peer is proven, for finding stale ones.
  /// The place must be free.
  void index_queue_pair(Connection& connection);
  void forget_queue_pair(Connection& connection);
  /// The connection with the same queue pair of the same peer; nullptr: none, or this one itself.
  Connection* find_same_queue_pair(const Connection& connection) const;
  void index_sidr(Connection& connection);
  Connection* find_sidr(const wire::Gid& gid, std::uint32_t request_id) const;

  void set_burden(Connection& connection, Burden burden);
  std::size_t burden(Burden burden) const { return bearers_of(burden).all.size(); }
  /// Of them, those of one peer.
  std::size_t burden(Burden burden, const wire::Gid& peer) const;
  /// Which has been one the longest; nullptr: none.
  Connection* oldest(Burden burden) const;
  Connection* oldest(Burden burden, const wire::Gid& peer) const;

  /// kNever: no deadline.
  void set_due(Connection& connection, TimePoint due);
  /// The connection with the earliest deadline; nullptr when none has one.
  Connection* first_due() const;

 private:
  std::unordered_map<std::uint32_t, std::unique_ptr<Connection>> by_id_;
  // Ordered, because strangers choose these keys: a hash table could be made to degenerate.
  std::map<RemoteKey, Connection*> requests_;
  std::map<RemoteKey, Connection*> queue_pairs_;
  std::map<SidrKey, Connection*> sidr_;
  std::set<std::pair<TimePoint, std::uint32_t>> deadlines_;
  using InOrder = std::map<std::uint64_t, Connection*>;  ///< by burden_order
  struct Bearers {
    InOrder all;
    std::map<wire::Gid, InOrder> of_peer;
  };
  const Bearers& bearers_of(Burden burden) const { return burdens_[static_cast<std::size_t>(burden)]; }
  std::array<Bearers, kBurdens> burdens_;  ///< that of Burden::none stays empty
  std::uint64_t next_order_ = 0;
};

}  // namespace softrnic::cm
