// A listening socket in the loop. Who was not accepted stays in its queue, and the socket readable: where the
// system has no room for a connection, the next attempt is after a pause, or the loop would go round and
// round.
#pragma once

#include <chrono>
#include <functional>

#include "base/time.h"
#include "base/unique_fd.h"
#include "daemon/event_loop.h"

namespace softrnic::daemon {

class Acceptor {
 public:
  static constexpr Duration kPause = std::chrono::milliseconds(100);
  /// A connection, non-blocking, of anybody.
  using Handler = std::function<void(UniqueFd connection)>;

  /// `listener` is bound, listens and does not block; it stays the caller's. `loop` outlives this object.
  /// `turn_away` gets the connections that there is no descriptor for, for a last word.
  Acceptor(EventLoop& loop, int listener, Handler accepted, Handler turn_away);
  ~Acceptor();
  Acceptor(const Acceptor&) = delete;
  Acceptor& operator=(const Acceptor&) = delete;

  /// Accepts from now on. False, with errno: it cannot be waited for connections.
  bool begin();

  TimePoint deadline() const { return listens_again_; }
  void advance(TimePoint now);

 private:
  void accept();
  void accept_failed(int error);
  UniqueFd accept_one() const;

  EventLoop& loop_;
  int listener_;
  Handler accepted_;
  Handler turn_away_;
  UniqueFd spare_;  ///< makes room for who is turned away
  TimePoint listens_again_ = kNever;
};

}  // namespace softrnic::daemon
