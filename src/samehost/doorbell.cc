#include "samehost/doorbell.h"

#include <fcntl.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

namespace softrnic::samehost {
namespace {

UniqueFd open_pipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return UniqueFd();
  const UniqueFd reading(above_stdio(ends[0])), writing(above_stdio(ends[1]));
  char path[64];
  std::snprintf(path, sizeof path, "/proc/self/fd/%d", reading.get());
  return UniqueFd(above_stdio(open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK)));
}

}  // namespace

UniqueFd make_doorbell() {
  UniqueFd doorbell = open_pipe();
  return doorbell ? std::move(doorbell) : UniqueFd(above_stdio(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)));
}

void ring_doorbell(const UniqueFd& doorbell) { eventfd_write(doorbell.get(), 1); }

// An eventfd has them all in one number, a pipe one after the other.
std::uint64_t take_rings(const UniqueFd& doorbell, std::uint64_t most) {
  std::uint64_t taken = 0;
  eventfd_t rings = 0;
  while (taken < most && eventfd_read(doorbell.get(), &rings) == 0) taken += std::min(rings, most - taken);
  return taken;
}

}  // namespace softrnic::samehost
