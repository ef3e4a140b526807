// How a communication ID of this side comes about, changes its state, and ends; and what the host is told
// then.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <optional>

#include "base/expected.h"
#include "base/reason.h"
#include "base/time.h"
#include "cm/connection_table.h"
#include "cm/event.h"
#include "cm/host.h"
#include "cm/listeners.h"

namespace softrnic::cm {

class Lifecycle {
 public:
  /// All outlive this object. `most`: IDs at a time.
  Lifecycle(Host& host, ConnectionTable& table, const Listeners& listeners, std::size_t most)
      : host_(host), table_(table), listeners_(listeners), most_(most) {}

  /// A number that neither an ID nor a listener has; EMFILE: there are too many IDs.
  Expected<Id, Failure> free_id();
  /// The connection, when the host knows it (else ENOENT) and it is in one of `states` (else EINVAL).
  Expected<Connection*, Failure> claim(Id id, std::initializer_list<State> states);

  /// Has no deadline then.
  void enter(Connection& connection, State state);
  /// Until no packet of it can be under way, and for a refused request until the peer will hardly repeat it.
  void enter_timewait(Connection& connection, TimePoint now);
  /// The peer has named our ID.
  void prove(Connection& connection);
  /// The end: idle, or forgotten when nobody holds the ID.
  void retire(Connection& connection);

  /// Unless the host knows nothing of the connection. It may call back: the caller's last act.
  void tell(const Connection& connection, Event event);
  /// retire() with a last event.
  void conclude(Connection& connection, Event event);

 private:
  Host& host_;
  ConnectionTable& table_;
  const Listeners& listeners_;
  std::size_t most_;
};

}  // namespace softrnic::cm
