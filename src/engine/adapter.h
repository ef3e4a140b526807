// The adapter of one process: its connection to the daemon, its control page, its lanes and
// the contexts it has open.
//
// Thread-safe. Made at the first use, never destroyed. A forked child forgets its parent's adapter and makes
// its own: objects from before the fork fail with ReasonId::forked_child and can be destroyed without harm.
//
// When the daemon ends, lanes go on. One that has died is followed by the next (next_daemon.h), which learns
// what it has to know; calls that need a daemon wait for that. Where there is none, as the daemon was told to
// end, the next call that needs it marks every open context as lost (DEVICE_FATAL) and fails; a new daemon is
// asked for only when the last context has been closed.
#pragma once

#include <atomic>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "control/client.h"
#include "control/page_writer.h"
#include "engine/lane_set.h"
#include "engine/watcher.h"
#include "rnic/context.h"
#include "rnic/lanes.h"

namespace softrnic::engine {

class Adapter final : public rnic::Lanes {
 public:
  static Adapter& instance();

  /// The devices of this host, in the order of their index; only SOFTRNIC_DEVICE when that is set. Starts the
  /// daemon when there is none.
  Expected<std::vector<device::DeviceInfo>, control::Error> devices();
  /// Opens the device with this index.
  Expected<std::unique_ptr<rnic::Context>, control::Error> open(std::uint32_t index);
  /// Calls `callback` from a thread of the engine when the daemon has ended while a device is open, and no
  /// other comes. It must neither wait for locks that are held during calls of this class nor make such
  /// calls. One for the process.
  void on_daemon_end(void (*callback)()) { daemon_end_.store(callback, std::memory_order_release); }
  /// The same for a daemon that has died, once the next one has come.
  void on_daemon_return(void (*callback)()) { daemon_return_.store(callback, std::memory_order_release); }
  /// Closes a context; with the last one go the lanes and the connection to the daemon,
  /// unless queue pairs are left.
  void close(std::unique_ptr<rnic::Context> context);

  // ---- rnic::Lanes
  Expected<rnic::LanePort*, Failure> choose() override;
  Expected<rnic::LanePort*, Failure> choose_for_frames() override;
  void quiesce_all() override;

 private:
  using DaemonPointer = std::shared_ptr<control::Client>;
  /// The watcher goes first.
  struct Connection {
    DaemonPointer daemon;  ///< shared with the lanes, which ask for each other
    std::unique_ptr<Watcher> watcher;
  };
  using Devices = std::map<std::uint32_t, std::shared_ptr<const device::DeviceInfo>>;

  Adapter();
  static void before_fork();
  static void after_fork_parent();
  static void after_fork_child();

  /// What `use` answers, which is called with mutex_ held and a connection: once more where the daemon has
  /// died under it and the next one has come.
  template <typename Use>
  auto with_daemon(Use use) -> decltype(use());

  /// What `choice` says, once there are lanes.
  template <typename Choice>
  Expected<rnic::LanePort*, Failure> choose_by(Choice choice);

  // with mutex_ held
  /// Sees to a connection. A dead one goes to `old`, which the caller destroys without the lock: its
  /// watcher may be waiting for it.
  Expected<void, control::Error> connect(std::vector<Connection>& old);
  /// Waits without the lock. False: there is none in place of `lost`.
  bool daemon_returns(std::unique_lock<std::mutex>& lock, const DaemonPointer& lost);
  Expected<void, control::Error> refresh_devices(control::Client& daemon);
  /// Contexts learn how their devices are now, or that they are gone.
  bool compare_devices(control::Client& daemon);
  /// The same where changes were lost for want of memory.
  void look_again(const DaemonPointer& daemon);
  Expected<std::unique_ptr<rnic::Context>, control::Error> open_here(std::uint32_t index);
  Expected<void, Failure> watch();
  void daemon_ended();
  std::vector<device::GidEntry> addresses() const;

  // from the watcher, without the lock; see Watcher::Callbacks
  void take(const control::Notification& notification);
  bool returned(const DaemonPointer& lost, const DaemonPointer& next);
  void ended(const DaemonPointer& lost);

  std::mutex mutex_;
  bool forked_ = false;                     ///< this is the parent's adapter, seen from a child
  bool daemon_gone_ = false;                ///< and no other comes
  std::condition_variable daemon_settled_;  ///< another daemon, or daemon_gone_
  std::atomic<void (*)()> daemon_end_{nullptr};
  std::atomic<void (*)()> daemon_return_{nullptr};
  control::PageWriter page_;
  Connection connection_;
  Devices devices_;
  std::vector<rnic::Context*> contexts_;
  LaneSet lanes_;
};

}  // namespace softrnic::engine
