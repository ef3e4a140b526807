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

  /// Starts at once. `daemon` outlives it. Check valid() afterwards.
  Watcher(control::Client& daemon, OnChange on_change, OnEnd on_end);
  /// Stops and joins: not to be called with a lock that the callbacks take.
  ~Watcher();
  Watcher(const Watcher&) = delete;
  Watcher& operator=(const Watcher&) = delete;

  /// False: descriptors or threads ran out.
  bool valid() const { return thread_.joinable(); }

 private:
  void run();
  bool read_all();

  control::Client& daemon_;
  OnChange on_change_;
  OnEnd on_end_;
  int stop_fd_;
  std::thread thread_;
};

}  // namespace softrnic::engine
