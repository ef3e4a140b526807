// How the engine thread shares a lane with a program that polls.
//
// A program that spins in ibv_poll_cq drives the lane itself; a thread that waits on the socket would be
// woken by every packet, only to find it taken, and would take the processor and the lock from the program.
// So while the program polls, the thread sleeps for pauses without looking at the socket. But some programs
// poll now and then and spin on memory in between (ib_write_lat), or poll once and go to sleep (events):
// there the thread must stay on the socket.
//
// The two are told apart by trial: after a pause in which a packet lay there and nobody polled, the thread
// stays on the socket for a number of wake-ups, and for twice as many after each trial that fails again. So a
// program that needs the thread pays a pause once in thousands of packets (of streams' messages once in a
// hundred, if it posts as many), and one that polls is left alone.
//
// Pure: figures in, decision out.
#pragma once

#include <cstdint>

#include "base/time.h"

namespace softrnic::engine {

class PollModeration {
 public:
  static constexpr Duration kShortest = std::chrono::microseconds(50);
  /// Small socket buffers fill in such a time
  static constexpr Duration kLongest = std::chrono::microseconds(250);
  /// Where streams alone bring something, of which nothing is lost meanwhile
  static constexpr Duration kLongestOfStreams = std::chrono::milliseconds(1);
  /// A program that has not polled for so long left the packet to the thread.
  static constexpr Duration kUnpolled = std::chrono::microseconds(20);
  /// A program that polls or posts, but has not looked at what came for so long, leaves that to the thread.
  static constexpr Duration kNeglected = std::chrono::microseconds(500);
  /// A program that has not polled for so long does not poll.
  static constexpr Duration kIdle = std::chrono::milliseconds(2);
  /// One that has taken messages from memory so often in a period spins, and was only off the processor at
  /// its end. (On a socket that proves nothing: who polls for ACKs may spin on memory next.)
  static constexpr std::uint32_t kSpinning = 32;
  /// Wake-ups on the socket before a trial.
  static constexpr unsigned kFewestWakes = 16;
  static constexpr unsigned kMostWakes = 2048;
  /// Where streams alone bring something, a wake-up beside a program that polls or posts brings the trial
  /// nearer as so many others. (On a socket of packets it proves little: who polls for ACKs may spin on
  /// memory next.)
  static constexpr unsigned kAttendedWake = 16;

  /// How long the thread may sleep now without looking at the socket, `longest` at most; zero: it has to wait
  /// on the socket.
  Duration next(Duration since_poll, Duration longest = kLongest);
  /// The thread woke up and looked. `found`: there were packets; `since_poll`: how long ago the program
  /// polled last, taken before the thread did anything; `messages`: how often it has taken messages
  /// from memory since next().
  void woke(bool found, Duration since_poll, std::uint32_t messages);

 private:
  void woke_on_socket(Duration since_poll);

  Duration longest_ = kLongest;
  Duration period_{};              ///< zero: on the socket
  bool slept_ = false;             ///< what next() said last
  unsigned wakes_ = kFewestWakes;  ///< how long to stay on the socket after a failed trial
  unsigned wakes_left_ = kFewestWakes;
};

}  // namespace softrnic::engine
