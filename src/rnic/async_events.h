// Asynchronous events of a context (IBTA 11.6.3), on an fd of their own.
#pragma once

#include <infiniband/verbs.h>

#include <condition_variable>
#include <mutex>

#include "base/expected.h"
#include "base/held_across_fork.h"
#include "base/reason.h"
#include "rnic/event_queue.h"
#include "rnic/object.h"

namespace softrnic::rnic {

struct AsyncEvent {
  ibv_event_type type{};
  EventTarget* target = nullptr;  ///< the QP, CQ or SRQ; nullptr for port and device events
  int port = 0;                   ///< of port events
};

/// Thread-safe. Its lock is a leaf: raise() may be called under any other lock.
class AsyncEventQueue {
 public:
  bool valid() const { return events_.valid(); }
  int fd() const { return events_.fd(); }

  void raise(ibv_event_type type, EventTarget& target);
  void raise_port(ibv_event_type type, int port);
  void raise_device(ibv_event_type type);

  /// ibv_get_async_event: waits for the next event unless O_NONBLOCK is set on fd(). The error is
  /// an errno: EINTR or EAGAIN.
  Expected<AsyncEvent, int> get();
  /// ibv_ack_async_event.
  void acknowledge(const AsyncEvent& event);
  /// For an object that is being destroyed: takes its unfetched events out, then waits until all fetched ones
  /// are acknowledged. Call without locks held, when nothing raises events for the object any more.
  void retire(EventTarget& target);

 private:
  void push(const AsyncEvent& event);

  std::mutex mutex_;
  const HeldAcrossFork held_{mutex_, HeldAcrossFork::Rank::events};
  std::condition_variable acked_;
  EventQueue<AsyncEvent> events_;
};

}  // namespace softrnic::rnic
