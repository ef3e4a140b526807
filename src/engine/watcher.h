// The thread that listens to the daemon: changes of devices, and its end.
#pragma once

#include <functional>
#include <thread>

#include "control/client.h"

namespace softrnic::engine {

class Watcher {
 public:
  using OnChange = std::function<void(const control::Notification&)>;
  using OnEnd = std::function<void()>;

  /// Starts at once. `daemon` outlives it. Check error() afterwards.
  Watcher(control::Client& daemon, OnChange on_change, OnEnd on_end);
  /// Stops and joins: not to be called with a lock that the callbacks take.
  ~Watcher();
  Watcher(const Watcher&) = delete;
  Watcher& operator=(const Watcher&) = delete;

  /// 0, or the errno of what ran out: descriptors, threads or memory.
  int error() const { return error_; }

 private:
  void run();
  bool read_all();

  control::Client& daemon_;
  OnChange on_change_;
  OnEnd on_end_;
  int stop_fd_;
  int error_ = 0;
  std::thread thread_;
};

}  // namespace softrnic::engine
