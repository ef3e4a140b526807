// How a program whose daemon has died comes to the next one: it looks for it, and starts
// it when nobody else does.
//
// All survivors of one daemon do so at once. One of them has the name "@softrnicd/<uid>/restart" and starts a
// daemon; the others wait for it to let go of the name. That only saves processes: who of several daemons
// becomes the one is settled by themselves (daemon/startup.h). A daemon that dies again and again is started
// ever more rarely, and then no more.
#pragma once

#include <chrono>
#include <memory>

#include "base/unique_fd.h"
#include "control/client.h"
#include "control/spawn.h"
#include "engine/lane_handover.h"

namespace softrnic::engine {

class NextDaemon {
 public:
  using Clock = std::chrono::steady_clock;
  using Milliseconds = std::chrono::milliseconds;

  static constexpr unsigned kAttempts = 8;  ///< in a row; a daemon that lived for kLongLife begins a new row
  static constexpr Milliseconds kFirstPause{100};
  static constexpr Milliseconds kLongestPause{5000};
  static constexpr std::chrono::seconds kLongLife{10};
  static constexpr std::chrono::seconds kPatience{2};  ///< with each answer of the next daemon

  /// Made in a call of the program's: see DaemonCommand. All of it outlives this object.
  NextDaemon(const control::DaemonCommand& command, control::DaemonKind kind, LaneHandover& lanes,
             int stop_fd, Milliseconds first_pause = kFirstPause)
      : command_(command), kind_(kind), lanes_(lanes), stop_fd_(stop_fd), first_pause_(first_pause) {}

  /// A connection to a daemon after the one that has died. Meanwhile gives the lanes to whatever daemon asks
  /// for them. nullptr: `stop_fd` is readable, or there has been no daemon in all the attempts.
  std::unique_ptr<control::Client> find();

  /// The pause before attempt `number` of a row, from 0 on; `first`: that before number 1.
  static Milliseconds pause_before(unsigned number, Milliseconds first = kFirstPause);

 private:
  enum class Outcome : std::uint8_t { ready, passed, stopped };

  /// Until `fd` (or -1) is readable; passed: nothing was for that long.
  Outcome wait_for(int fd, Milliseconds longest);
  std::unique_ptr<control::Client> connect();
  /// False: stopped.
  bool see_to_start();
  bool wait_for_starter();
  bool start();

  const control::DaemonCommand& command_;
  const control::DaemonKind kind_;  ///< only the user's own is this program's to start
  LaneHandover& lanes_;
  const int stop_fd_;
  const Milliseconds first_pause_;
  unsigned attempts_ = 0;
  Clock::time_point connected_ = Clock::now();  ///< to the daemon that has died
};

}  // namespace softrnic::engine
