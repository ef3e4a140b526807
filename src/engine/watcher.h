// The thread that listens to the daemon: changes of devices, and its end. Where the daemon has died it finds
// the next one; where there is to be none it gives the process's lanes to whatever daemon comes later.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "control/client.h"
#include "engine/lane_handover.h"
#include "engine/next_daemon.h"
#include "engine/quiet_thread.h"
#include "engine/stream_ends.h"

namespace softrnic::engine {

class Watcher {
 public:
  /// All called from this thread.
  struct Callbacks {
    std::function<void(const control::Notification&)> change;
    /// Changes were lost: looks at all devices.
    std::function<void(const std::shared_ptr<control::Client>& daemon)> changes_lost;
    /// A daemon after the one that has died. False: it is of no use to this process.
    std::function<bool(const std::shared_ptr<control::Client>& lost,
                       const std::shared_ptr<control::Client>& next)>
        returned;
    /// The daemon has ended, and none comes after it by this process's doing.
    std::function<void(const std::shared_ptr<control::Client>& lost)> ended;
    /// Streams of the process have ended: the daemon is to be told. Empty: it is not.
    std::function<void(const std::shared_ptr<control::Client>& daemon, std::span<const std::uint64_t> tokens)>
        streams_ended = {};
  };

  /// Starts at once. Check error() afterwards. `command` starts daemons.
  /// `ends` outlives it.
  Watcher(std::shared_ptr<control::Client> daemon, std::shared_ptr<LaneHandover> lanes,
          control::DaemonCommand command, StreamEnds& ends, Callbacks callbacks);

  /// Not to be destroyed with a lock that the callbacks take.
  ~Watcher() = default;
  Watcher(const Watcher&) = delete;
  Watcher& operator=(const Watcher&) = delete;

  /// 0, or the errno of what ran out: descriptors, threads or memory.
  int error() const { return thread_.error(); }

 private:
  void run();
  /// False: the process wants no more of it.
  bool watch();
  bool change_over(NextDaemon& next);
  /// False: the daemon has ended.
  bool read_changes();
  bool read_all();
  void tell_ends();
  /// Again and again while memory is out. False: the process wants no more of it.
  template <typename Step>
  bool insist(Step step);

  std::shared_ptr<control::Client> daemon_;
  const std::shared_ptr<LaneHandover> lanes_;
  const control::DaemonCommand command_;
  StreamEnds& ends_;
  const Callbacks callbacks_;
  QuietThread thread_;
};

}  // namespace softrnic::engine
