// One connection to the connection manager, with what lives on it: the devices it has opened, and what the
// cookies of its events stand for.
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "abi/rdmacm/devices.h"
#include "abi/sibling.h"
#include "base/expected.h"
#include "base/reason.h"
#include "control/cm_client.h"
#include "rnic/event_count.h"
#include "rnic/refusal.h"

namespace softrnic::rdmacm {

struct Id;
struct Membership;

/// Objects by number. What the daemon sends is looked up here, and never taken for a pointer. Thread-safe.
template <typename Number, typename T>
class NumberTable {
 public:
  void put(Number number, T& object) {
    const std::lock_guard lock(mutex_);
    objects_[number] = &object;
  }
  T* find(Number number) {
    const std::lock_guard lock(mutex_);
    const auto found = objects_.find(number);
    return found == objects_.end() ? nullptr : found->second;
  }
  void remove(Number number) {
    const std::lock_guard lock(mutex_);
    objects_.erase(number);
  }

 private:
  std::mutex mutex_;
  std::unordered_map<Number, T*> objects_;
};

/// Channels, ids and lists of devices share it; the last of them closes it. Thread-safe.
class Session {
 public:
  explicit Session(std::unique_ptr<control::Client> client);

  /// Explains what the daemon refused.
  template <typename T>
  Expected<T, Failure> heard(Expected<T, control::Error> answer) {
    if (!answer) return failed(answer.error());
    if constexpr (std::is_void_v<T>) {
      return {};
    } else {
      return std::move(*answer);
    }
  }
  Unexpected<Failure> failed(const control::Error& error);
  /// Whether `error` says that there is no daemon behind this session any more: it ended,
  /// or this is a forked child.
  bool severed(const control::Error& error);
  /// Whether it makes sense to wait for the daemon: EIO when it has ended, EPERM in a forked child.
  Expected<void, Failure> check() const;
  bool lost() const { return lost_.load(std::memory_order_relaxed); }

  std::uint64_t next_cookie() { return last_cookie_.fetch_add(1, std::memory_order_relaxed) + 1; }

  const std::shared_ptr<control::CmClient> shared_daemon;
  control::CmClient& daemon = *shared_daemon;
  DeviceTable devices;
  NumberTable<std::uint64_t, Id> ids;                  ///< by cookie
  NumberTable<control::CmNumber, Id> numbered_ids;     ///< by number
  NumberTable<std::uint64_t, Membership> memberships;  ///< by cookie
  const abi::Sibling* sibling = nullptr;               ///< none: libibverbs.so.1 is another build's

 private:
  const pid_t owner_ = getpid();
  std::atomic<bool> lost_{false};
  std::atomic<std::uint64_t> last_cookie_{0};
};

/// The counts of all event channels, so that the daemon's end wakes who waits for an event. Thread-safe.
class ChannelCounts {
 public:
  void add(rnic::EventCount& count);
  void remove(rnic::EventCount& count);
  void post_all();

 private:
  std::mutex mutex_;  ///< held around nothing that waits
  std::unordered_set<rnic::EventCount*> counts_;
};
ChannelCounts& channel_counts();

/// The connections of all sessions to their daemon, for the engine's thread, which must not keep a session
/// alive: its end takes verbs. Thread-safe.
class DaemonLinks {
 public:
  void add(const std::shared_ptr<control::CmClient>& link);
  /// There is a daemon again. False: not for all of them.
  bool come_back();
  void give_up();

 private:
  std::vector<std::shared_ptr<control::CmClient>> living();

  std::mutex mutex_;  ///< held around nothing that waits
  std::vector<std::weak_ptr<control::CmClient>> links_;
};
DaemonLinks& daemon_links();

/// The session of this process, made when there is none, when the last one lost its daemon, and anew in a
/// forked child. Starts the daemon and opens the devices, whose thread also hears of the daemon's end.
/// ENODEV when there is none.
Expected<std::shared_ptr<Session>, Failure> current_session();

}  // namespace softrnic::rdmacm
