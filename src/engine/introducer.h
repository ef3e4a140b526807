// The thread of a lane that asks the daemon who its neighbours are, as the daemon may take its time, or be stopped.
#pragma once

#include <thread>

#include "engine/lane.h"

namespace softrnic::engine {

class Introducer {
 public:
  /// Starts at once. `lane` outlives it. Check error() afterwards.
  explicit Introducer(Lane& lane);
  /// Stops and joins; waits for an answer that is under way, which takes no longer than control::kAnswerTimeout.
  ~Introducer();
  Introducer(const Introducer&) = delete;
  Introducer& operator=(const Introducer&) = delete;

  /// 0, or the errno of what ran out: descriptors, threads or memory.
  int error() const { return error_; }

 private:
  void run();
  bool is_to_stop() const;

  Lane& lane_;
  UniqueFd stop_fd_;
  int error_ = 0;
  std::thread thread_;
};

}  // namespace softrnic::engine
