// All connections: by their id, by the token of their stream, and by when something is due.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "iwcm/connection.h"

namespace softrnic::iwcm {

class ConnectionTable {
 public:
  Connection& add(State state);
  void erase(Connection& connection);
  /// nullptr: no such connection.
  Connection* find(Id id) const;
  Connection* with_token(std::uint64_t token) const;

  /// Keeps count of those in each state. Everything else of `connection` is its user's.
  void move(Connection& connection, State to);
  /// `token` is nobody else's, and not 0.
  void set_token(Connection& connection, std::uint64_t token);
  void set_deadline(Connection& connection, TimePoint deadline);

  TimePoint deadline() const { return due_.empty() ? kNever : due_.begin()->first; }
  /// One whose deadline is reached; nullptr: none.
  Connection* due(TimePoint now) const;
  /// The one that has been in the state `waiting` longest; nullptr: none.
  Connection* oldest_waiting() const;

  std::vector<Connection*> all_waiting() const;

  std::size_t size() const { return all_.size(); }
  std::size_t waiting() const { return waiting_.size(); }
  /// That have no stream of a program's yet, or had one.
  std::size_t in_set_up() const { return set_up_; }

 private:
  static bool is_set_up(State state) { return state < State::established; }
  void count(const Connection& connection, bool in);

  std::unordered_map<std::uint32_t, std::unique_ptr<Connection>> all_;
  std::unordered_map<std::uint64_t, Connection*> by_token_;
  std::set<std::pair<TimePoint, std::uint32_t>> due_;
  std::map<std::uint64_t, Connection*> waiting_;  ///< by their turn
  std::unordered_map<std::uint32_t, std::uint64_t> turns_;
  std::uint64_t next_turn_ = 0;
  std::size_t set_up_ = 0;
  std::uint32_t next_ = 1;
};

}  // namespace softrnic::iwcm
