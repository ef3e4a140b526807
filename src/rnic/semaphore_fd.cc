#include "rnic/semaphore_fd.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

#include "base/unique_fd.h"

namespace softrnic::rnic {

SemaphoreFd::SemaphoreFd() : fd_(above_stdio(eventfd(0, EFD_SEMAPHORE | EFD_CLOEXEC))) {}

SemaphoreFd::~SemaphoreFd() {
  if (fd_ >= 0) close(fd_);
}

void SemaphoreFd::post() {
  const std::uint64_t one = 1;
  // It cannot fail: the counter is far from its end, and an fd that the program closed is the program's
  // trouble.
  [[maybe_unused]] const ssize_t written = write(fd_, &one, sizeof one);
}

int SemaphoreFd::wait() {
  std::uint64_t value = 0;
  return read(fd_, &value, sizeof value) == sizeof value ? 0 : errno;
}

bool SemaphoreFd::ready() const {
  pollfd p{fd_, POLLIN, 0};
  return poll(&p, 1, 0) == 1;
}

bool SemaphoreFd::blocks() const { return (fcntl(fd_, F_GETFL) & O_NONBLOCK) == 0; }

// RWF_NOWAIT does not depend on O_NONBLOCK, which belongs to the program. Kernels before 5.8 do not know
// it for eventfds; there another reader could get in between poll() and read(), and this thread would
// wait for the next event.
bool SemaphoreFd::try_take() {
  std::uint64_t value = 0;
  iovec into{&value, sizeof value};
  const ssize_t taken = preadv2(fd_, &into, 1, -1, RWF_NOWAIT);
  if (taken >= 0 || errno != EOPNOTSUPP) return taken == sizeof value;
  return ready() && wait() == 0;
}

}  // namespace softrnic::rnic
