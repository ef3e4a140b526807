#include "two_children.h"

#include <poll.h>

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

void pass(std::chrono::nanoseconds time) {
  using Clock = std::chrono::steady_clock;
  for (const auto end = Clock::now() + time; Clock::now() < end;) continue;
}

}  // namespace softrnic::robust
