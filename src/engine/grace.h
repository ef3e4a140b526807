// How the engine thread shares a lane with a program that polls.
//
// A program that spins in ibv_poll_cq drives the lane itself; a thread that waits on the socket would be woken by every
// packet only to find it taken, and would fight for the lock. So while the program polls, the thread sleeps a grace
// period without looking at the socket. But some programs poll only now and then and spin on memory in between
// (ib_write_lat): there the thread must stay on the socket. What tells them apart is whether packets lay waiting while
// nobody polled.
//
// Pure: figures in, decision out.
#pragma once

#include "base/time.h"

namespace softrnic::engine {

class Grace {
 public:
  static constexpr Duration kShortest = std::chrono::microseconds(50);
  static constexpr Duration kLongest = std::chrono::microseconds(250);
  /// A program that has not polled for so long left the packet to the thread.
  static constexpr Duration kUnpolled = std::chrono::microseconds(20);
  /// A program that has not polled for so long does not poll.
  static constexpr Duration kIdle = std::chrono::milliseconds(2);
  /// Wake-ups in a row for nothing before the thread leaves the socket.
  static constexpr unsigned kPatience = 16;

  /// The thread woke up and looked. `found`: there were packets; `since_poll`: how long ago the program polled last.
  void woke(bool found, Duration since_poll);

  /// How long the thread may sleep without looking at the socket; zero: it has to wait on the socket.
  Duration period(Duration since_poll) const { return since_poll > kIdle ? Duration::zero() : grace_; }

 private:
  Duration grace_{};
  unsigned fruitless_ = 0;
};

}  // namespace softrnic::engine
