// The completions of a batch, which programs see when its packets have left.
#pragma once

#include <infiniband/verbs.h>

#include <cstddef>
#include <optional>
#include <vector>

#include "base/strong.h"
#include "engine/event_looks.h"
#include "rnic/completion_queue.h"
#include "rnic/lane_port.h"

namespace softrnic::engine {

/// Not thread-safe: the lane's lock guards it.
class CompletionBatch {
 public:
  struct Completion {
    rnic::CompletionQueue* cq;
    ibv_wc wc;
    bool solicited;
  };

  /// `looks` outlives the batch.
  explicit CompletionBatch(EventLooks& looks) : looks_(looks) {}

  /// Until close(), completions of sink.cq go to `sink`, which a thread that polls has brought. Those that
  /// come later than others of this lane which lie in the queue must not overtake them: so at once or never.
  void open(rnic::CompletionSink& sink) {
    if (sink.cq != nullptr && sink.cq->may_pass()) sink_ = &sink;
  }
  void close() { sink_ = nullptr; }

  /// Keeps a completion for publish(), if neither the sink takes it nor, as nobody is owed anything for it
  /// (`at_once`) and nothing is before it, its queue. False: memory ran out.
  bool add(const Completion& completion, bool at_once);
  /// Those that wait go to their queues, up to the first that its queue has lost, which is returned: its
  /// queue pair is to be told, and more may be added by that. Call it again until there is none.
  std::optional<Completion> publish();
  /// To its queue at once, whatever waits. False: it is lost.
  bool push(const Completion& completion);
  /// Those of a queue pair that wait are dropped.
  void discard(Qpn qpn);
  bool empty() const { return waiting_.empty(); }

 private:
  EventLooks& looks_;
  std::vector<Completion> waiting_;
  std::size_t published_ = 0;             ///< how many of them are, while they are being published
  rnic::CompletionSink* sink_ = nullptr;  ///< of the thread that polls just now
};

}  // namespace softrnic::engine
