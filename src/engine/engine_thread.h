// The thread that drives a lane while its program does not.
#pragma once

#include <thread>

#include "engine/grace.h"
#include "engine/lane.h"

namespace softrnic::engine {

/// Starts a thread with all signals blocked, so that the program's handlers run where the program expects them. When there
/// is none to be had it is not joinable, and errno says why.
std::thread start_quiet_thread(const char* name, void (*body)(void*), void* argument);

class EngineThread {
 public:
  /// Starts at once. `lane` outlives it. Check error() afterwards.
  explicit EngineThread(Lane& lane);
  /// Stops and joins.
  ~EngineThread();
  EngineThread(const EngineThread&) = delete;
  EngineThread& operator=(const EngineThread&) = delete;

  /// 0, or the errno of what ran out: descriptors, threads or memory.
  int error() const { return error_; }

 private:
  void run();
  enum class Woke { to_stop, to_work, after_grace };
  /// Waits for work or for the end of the grace period.
  Woke wait();
  void make_way() const;

  Lane& lane_;
  Grace grace_;
  int stop_fd_;
  int error_ = 0;
  std::thread thread_;
};

}  // namespace softrnic::engine
