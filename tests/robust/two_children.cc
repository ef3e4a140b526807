#include "two_children.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>

#include <algorithm>
#include <cstdlib>

namespace softrnic::robust {

unsigned rounds(unsigned smoke) {
  const char* wanted = std::getenv("DIRECT_ROUNDS");
  return wanted != nullptr ? static_cast<unsigned>(std::strtoul(wanted, nullptr, 10)) : smoke;
}

bool Line::told() const {
  pollfd waiting{fd_, POLLIN, 0};
  return poll(&waiting, 1, 0) != 0;
}

Lines::Lines() {
  int ends[2] = {-1, -1};
  EXPECT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
  const timeval limit{30, 0};
  for (const int end : ends) setsockopt(end, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  a.reset(ends[0]);
  b.reset(ends[1]);
}

bool meet(Side& side, const Line& line, Card& peer, std::uint8_t timeout, unsigned receives) {
  return side.open() && line.tell(side.card()) && line.hear(peer) && side.connect(peer, timeout, receives) &&
         line.tell() && line.hear();
}

std::uint8_t* memory_of(const Side& side) { return reinterpret_cast<std::uint8_t*>(side.card().address); }

bool holds_only(const std::uint8_t* memory, std::uint8_t value, std::size_t bytes) {
  return std::all_of(memory, memory + bytes, [value](std::uint8_t byte) { return byte == value; });
}

void kill_at_random(const Line& line, pid_t victim, std::chrono::nanoseconds within, std::mt19937& dice) {
  ASSERT_TRUE(line.hear());
  pass(std::chrono::nanoseconds(dice() % static_cast<std::uint64_t>(within.count())));
  kill(victim, SIGKILL);
  EXPECT_EQ(end_of(victim), -SIGKILL);
}

void pass(std::chrono::nanoseconds time) {
  const auto now = [] { return std::chrono::steady_clock::now(); };
  for (const auto end = now() + time; now() < end;) continue;
}

}  // namespace softrnic::robust
