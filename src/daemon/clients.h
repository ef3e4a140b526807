// The clients of a service: who connects, what they say, what they are told, and that they have gone.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>

#include "base/expected.h"
#include "base/reason.h"
#include "base/time.h"
#include "base/unique_fd.h"
#include "daemon/acceptor.h"
#include "daemon/connection.h"
#include "daemon/device_list.h"
#include "daemon/event_loop.h"
#include "daemon/service.h"
#include "daemon/user_limits.h"

namespace softrnic::daemon {

class Clients {
 public:
  static constexpr std::size_t kMost = 1000;

  /// `listener` is bound and listens; it stays the caller's. `loop` and `service` outlive this object.
  /// `limits`: of each user; none: the user of this process alone is served.
  Clients(EventLoop& loop, int listener, Service& service, std::optional<UserLimits> limits);
  Clients(const Clients&) = delete;
  Clients& operator=(const Clients&) = delete;

  /// Accepts them from now on. False, with errno: it cannot be waited for them.
  bool begin() { return acceptor_.begin(); }

  bool empty() const { return clients_.empty(); }
  std::size_t size() const { return clients_.size(); }
  /// Since when there is none, if empty().
  TimePoint idle_since() const { return idle_since_; }
  /// Some have reclaimed lanes, and are about to tell more.
  bool any_returning() const;

  /// Tells all of a device.
  void announce(const DeviceChange& change);
  /// Whoever is told to end says so, or clients would take it for dead and start the next one.
  void take_leave();

  TimePoint deadline() const { return acceptor_.deadline(); }
  void advance(TimePoint now) { acceptor_.advance(now); }

 private:
  void accepted(UniqueFd socket);
  /// Tells a client that there is no room for it.
  void turn_away(const UniqueFd& socket, const Failure& failure);
  Failure no_room() const;
  /// Whether there is room for one more connection, of this user.
  Expected<void, Failure> check_room(uid_t user) const;
  void read(std::uint32_t id);
  void answer(std::uint32_t id, Answer reply);
  void drop(std::uint32_t id);
  void flush(std::uint32_t id, Connection& client);

  EventLoop& loop_;
  Acceptor acceptor_;
  Service& service_;
  const std::optional<UserLimits> limits_;
  std::map<std::uint32_t, std::unique_ptr<Connection>> clients_;
  std::uint32_t next_id_ = 1;
  TimePoint idle_since_;
};

}  // namespace softrnic::daemon
