// A completion channel: an fd that tells which of several completion queues has something new.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <vector>

#include "base/expected.h"
#include "base/held_across_fork.h"
#include "base/reason.h"
#include "rnic/event_queue.h"
#include "rnic/object.h"

namespace softrnic::rnic {

class CompletionQueue;

/// Thread-safe. Its lock comes after those of completion queues and nothing is locked under it.
class CompletionChannel {
 public:
  /// Fails with EMFILE and the like.
  static Expected<std::unique_ptr<CompletionChannel>, Failure> create();

  int fd() const { return events_.fd(); }
  /// EBUSY while completion queues use it. Delete the object afterwards.
  Expected<void, Failure> destroy();

  /// ibv_get_cq_event: waits for an event unless O_NONBLOCK is set on fd(). The error is
  /// an errno: EINTR or EAGAIN.
  Expected<CompletionQueue*, int> get();

 private:
  friend class CompletionQueue;
  CompletionChannel() = default;

  void add(CompletionQueue& cq);
  /// Takes the queue's unfetched events out and waits until the fetched ones are acknowledged.
  void retire(CompletionQueue& cq);
  /// False: memory ran out, and there is no event.
  bool notify(CompletionQueue& cq);
  void acknowledge(CompletionQueue& cq, unsigned events);
  void explain_missed();

  std::mutex mutex_;
  const HeldAcrossFork held_{mutex_, HeldAcrossFork::Rank::events};
  std::condition_variable acked_;
  EventQueue<CompletionQueue*> events_;
  std::vector<CompletionQueue*> queues_;
};

}  // namespace softrnic::rnic
