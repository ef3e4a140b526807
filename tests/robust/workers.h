// Starts workers (worker.cc), waits for them and looks at the daemon that they share.
#pragma once

#include <gtest/gtest.h>
#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/unique_fd.h"
#include "control/client.h"
#include "patience.h"
#include "tests/support/process_named.h"

namespace softrnic::robust {

constexpr int kHung = -1000;

class Worker {
 public:
  /// `peer` becomes descriptor 3.
  Worker(const std::vector<std::string>& words, UniqueFd peer);
  Worker(Worker&&) = default;
  /// Kills it when it still runs.
  ~Worker();

  pid_t pid() const { return pid_; }
  void kill_now();
  void tell_to_end() { tester_.reset(); }
  /// Waits for `count` reports. False when it ended before, or hangs.
  bool reports(unsigned count);
  /// The same, without those that wait already.
  bool fresh_reports(unsigned count);
  /// Its exit status, minus the signal that killed it, or kHung.
  int wait(int seconds = kHangSeconds);

 private:
  pid_t pid_ = -1;
  UniqueFd pidfd_, tester_;
};

/// A fork of this process, which runs `body` and ends with what it returns.
pid_t start_child(const std::function<int()>& body);
/// How a child ends, as Worker::wait() says it; one that does not within `seconds` is looked at and killed.
int end_of(pid_t child, int seconds = kHangSeconds);
inline int in_child(const std::function<int()>& body) { return end_of(start_child(body)); }

/// Two workers that are each other's peer.
using Pair = std::pair<Worker, Worker>;
Pair pair_of(const std::vector<std::string>& first, const std::vector<std::string>& second);
inline Pair pair_of(const std::vector<std::string>& words) { return pair_of(words, words); }
void expect_traffic(Pair& pair);
void end(Pair& pair);

/// What the daemon of this namespace says; nothing when none runs.
std::optional<control::StatusReply> daemon_status();
/// Asks until `condition` holds or 10 s have passed.
bool daemon_gets_to(const std::function<bool(const control::StatusReply&)>& condition);
/// No lane in use, no client but the one who asks.
inline bool is_quiet(const control::StatusReply& status) {
  return status.lanes_used == 0 && status.clients == 1;
}

std::size_t descriptors_of(pid_t process);
std::size_t threads_of(pid_t process);
using test::process_named;
/// Ends the daemon of this namespace, whose-ever it is, and waits until its keeper is gone
/// too; nothing when none runs.
void end_daemon();
/// Kills a process that is no child of this one and waits until it is gone.
void kill_stranger(pid_t process, int signal);

}  // namespace softrnic::robust
