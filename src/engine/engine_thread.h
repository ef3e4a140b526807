// The thread that drives a lane while its program does not.
#pragma once

#include <atomic>

#include "engine/lane.h"
#include "engine/poll_moderation.h"
#include "engine/quiet_thread.h"

namespace softrnic::engine {

class EngineThread {
 public:
  /// Starts at once, and returns when whoever looks at the lane sees it live. `lane` outlives it.
  /// Check error() afterwards.
  explicit EngineThread(Lane& lane);

  /// 0, or the errno of what ran out: descriptors, threads or memory.
  int error() const { return thread_.error(); }

 private:
  void run();
  enum class Woke { to_stop, to_work, after_pause };
  /// Waits for work or for the end of the pause.
  Woke wait();
  void make_way() const;

  Lane& lane_;
  PollModeration moderation_;
  std::atomic<bool> lives_{false};
  QuietThread thread_;
};

}  // namespace softrnic::engine
