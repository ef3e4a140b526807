// The thread that drives a lane while its program does not.
#pragma once

#include <thread>

#include "engine/grace.h"
#include "engine/lane.h"

namespace softrnic::engine {

/// Starts a thread with all signals blocked, so that the program's handlers run where the program expects them. Not
/// joinable when there is none to be had.
std::thread start_quiet_thread(const char* name, void (*body)(void*), void* argument);

class EngineThread {
 public:
  /// Starts at once. `lane` outlives it. Check valid() afterwards.
  explicit EngineThread(Lane& lane);
  /// Stops and joins.
  ~EngineThread();
  EngineThread(const EngineThread&) = delete;
  EngineThread& operator=(const EngineThread&) = delete;

  /// False: descriptors or threads ran out.
  bool valid() const { return thread_.joinable(); }

 private:
  void run();
  /// Waits for work or for the end of the grace period; false: the thread is to stop.
  bool wait();

  Lane& lane_;
  Grace grace_;
  int stop_fd_;
  std::thread thread_;
};

}  // namespace softrnic::engine
