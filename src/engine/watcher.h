// The thread that listens to the daemon: changes of devices, its end, and then to the daemon that comes after it.
#pragma once

#include <functional>
#include <memory>

#include "control/client.h"
#include "engine/lane_handover.h"
#include "engine/quiet_thread.h"

namespace softrnic::engine {

class Watcher {
 public:
  using OnChange = std::function<void(const control::Notification&)>;
  using OnEnd = std::function<void()>;

  /// Starts at once. `daemon` outlives it. When that has ended, answers for `lanes`. Check error() afterwards. Not to be destroyed with a lock that the callbacks take.
  Watcher(control::Client& daemon, std::shared_ptr<LaneHandover> lanes, OnChange on_change, OnEnd on_end);

  /// 0, or the errno of what ran out: descriptors, threads or memory.
  int error() const { return thread_.error(); }

 private:
  void run();
  bool read_all();

  control::Client& daemon_;
  std::shared_ptr<LaneHandover> lanes_;
  OnChange on_change_;
  OnEnd on_end_;
  QuietThread thread_;
};

}  // namespace softrnic::engine
