// Two children of a test that are connected to each other, and what they need for that.
#pragma once

#include <sys/socket.h>
#include <sys/time.h>

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <random>

#include "side.h"
#include "witness.h"
#include "workers.h"

namespace softrnic::robust {

/// How often a random test repeats: DIRECT_ROUNDS, or `smoke`.
unsigned rounds(unsigned smoke);

/// What two processes tell each other.
class Line {
 public:
  explicit Line(int fd) : fd_(fd) {}
  template <typename T>
  bool tell(const T& value) const {
    return send(fd_, &value, sizeof value, MSG_NOSIGNAL) == static_cast<ssize_t>(sizeof value);
  }
  template <typename T>
  bool hear(T& value) const {
    ssize_t got = -1;
    do {
      got = recv(fd_, &value, sizeof value, 0);
    } while (got < 0 && errno == EINTR);  // a process that was stopped goes on
    return got == static_cast<ssize_t>(sizeof value);
  }
  bool tell() const { return tell('.'); }
  bool hear() const {
    char token = 0;
    return hear(token);
  }
  /// Whether something was told, without waiting.
  bool told() const;

 private:
  int fd_;
};

/// Both ends of a line. All children have both, so who waits for one that has failed hears
/// nothing more: after 30 s.
struct Lines {
  Lines();
  UniqueFd a, b;
};

/// Opens and connects to the process at the other end. `receives`: how many are posted. See Side::connect().
bool meet(Side& side, const Line& line, Card& peer, std::uint8_t timeout = 14,
          unsigned receives = Side::kDepth);

std::uint8_t* memory_of(const Side& side);

/// Whether all of the memory of a side, or so much of it, has this value.
bool holds_only(const std::uint8_t* memory, std::uint8_t value, std::size_t bytes = Side::kBytes);

/// Kills `victim` at a random moment after a word by `line`.
void kill_at_random(const Line& line, pid_t victim, std::chrono::nanoseconds within, std::mt19937& dice);

/// Spins: the tests want to meet every moment of a copy.
void pass(std::chrono::nanoseconds time);

}  // namespace softrnic::robust
