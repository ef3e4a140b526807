// The thread of a lane that asks the daemon who its local peers are, as the daemon may take
// its time, or be stopped.
#pragma once

#include "engine/lane.h"
#include "engine/quiet_thread.h"

namespace softrnic::engine {

class PeerResolver {
 public:
  /// Starts at once. `lane` outlives it. Check error() afterwards. Its end waits for an answer that is under
  /// way, which takes no longer than control::kAnswerTimeout.
  explicit PeerResolver(Lane& lane);

  /// 0, or the errno of what ran out: descriptors, threads or memory.
  int error() const { return thread_.error(); }

 private:
  void run();
  bool is_to_stop() const;

  Lane& lane_;
  QuietThread thread_;
};

}  // namespace softrnic::engine
