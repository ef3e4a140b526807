// All connections: by their id, by the token of their stream, and by when something is due.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "iwcm/connection.h"

namespace softrnic::iwcm {

class ConnectionTable {
 public:
  /// `listener` 0: of the active side.
  Connection& add(State state, ListenerId listener, std::uint32_t user);
  void erase(Connection& connection);
  /// nullptr: no such connection.
  Connection* find(Id id) const;
  Connection* with_token(std::uint64_t token) const;
  /// In the state `initiating`, from `local` to `remote`.
  Connection* initiating(const Endpoint& local, const Endpoint& remote) const;
  /// Whether what has come from there comes from this host, as far as addresses tell and this manager knows.
  bool is_of_this_host(const Connection& passive) const;

  /// Keeps count of those in each state, see below. Everything else of `connection` is its user's.
  void move(Connection& connection, State to);
  /// `token` is nobody else's, and not 0.
  void set_token(Connection& connection, std::uint64_t token);
  void set_deadline(Connection& connection, TimePoint deadline);
  /// Its socket has gone to the program.
  void set_taken(Connection& connection);

  TimePoint deadline() const { return due_.empty() ? kNever : due_.begin()->first; }
  /// One whose deadline is reached; nullptr: none.
  Connection* due(TimePoint now) const;

  // ---- of one listener
  /// In the state `waiting`, and in the state `requested`.
  std::size_t waiting(ListenerId listener) const;
  std::size_t requested(ListenerId listener) const;
  /// In the order in which they came.
  std::vector<Connection*> all_waiting(ListenerId listener) const;
  /// The first that came to the listener at which most wait, of this user's or of all; nullptr: none waits.
  Connection* first_of_most_waiting(std::optional<std::uint32_t> user) const;

  // ---- in the state `queued`
  std::size_t queued(std::uint32_t user) const;
  /// The first of a user for whom there is room; nullptr: none.
  Connection* first_queued(const std::function<bool(std::uint32_t user)>& has_room) const;

  // ---- counted
  std::size_t size() const { return all_.size(); }
  /// With a socket of this host's, or about to have one: see Limits.
  std::size_t active() const { return active_; }
  std::size_t passive() const { return passive_; }
  std::size_t of_user(std::uint32_t user) const;

 private:
  struct AtListener {
    std::map<std::uint64_t, Connection*> waiting;  ///< by their turn
    std::size_t requested = 0;
  };
  void enter(Connection& connection);
  void leave(const Connection& connection);

  std::unordered_map<std::uint32_t, std::unique_ptr<Connection>> all_;
  std::unordered_map<std::uint64_t, Connection*> by_token_;
  std::map<std::pair<Endpoint, Endpoint>, Connection*> initiating_;  ///< by local and remote
  std::set<std::pair<TimePoint, std::uint32_t>> due_;
  std::map<ListenerId, AtListener> listeners_;
  std::map<std::uint32_t, std::size_t> users_;
  std::map<std::uint32_t, std::set<std::uint32_t>> queued_;  ///< ids by user; the lowest came first
  std::uint64_t next_turn_ = 0;
  std::size_t active_ = 0, passive_ = 0;
  std::uint32_t next_ = 1;
};

}  // namespace softrnic::iwcm
