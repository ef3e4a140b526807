#include <sys/mman.h>
#include <sys/resource.h>

#include <array>
#include <cerrno>

#include "doctor/child.h"
#include "doctor/gather.h"
#include "samehost/direct_layout.h"
#include "samehost/packet_ring.h"

namespace softrnic::doctor {
namespace {

constexpr std::uint32_t kThreads = 3;  ///< of an open device: its lane's, the PeerResolver's, the Watcher's
constexpr std::uint64_t kStack = 8 << 20;
constexpr std::uint64_t kOther = 16 << 20;  ///< heap, receive buffers, libraries

struct Limit {
  std::uint64_t soft = kUnlimited, hard = kUnlimited;
};

Limit limit_of(decltype(RLIMIT_NOFILE) resource) {
  rlimit limit{};
  if (getrlimit(resource, &limit) != 0) return {};
  const auto number = [](rlim_t value) { return value == RLIM_INFINITY ? kUnlimited : value; };
  return {number(limit.rlim_cur), number(limit.rlim_max)};
}

/// Processes count as threads do. They live until the last of them has been started.
int try_threads() {
  Pipe pipe = make_pipe();
  if (!pipe) return errno;
  std::array<pid_t, kThreads> started{};
  int error = 0;
  for (pid_t& pid : started) {
    pid = fork();
    if (pid < 0) error = errno;
    if (pid != 0) continue;
    pipe.writing.reset();
    char scrap;
    _exit(read(pipe.reading.get(), &scrap, 1) == 0 ? 0 : 1);
  }
  for (const pid_t pid : started) Child(pid).end();
  return error;
}

int try_address_space(std::uint64_t bytes) {
  void* const place =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (place == MAP_FAILED) return errno;
  munmap(place, bytes);
  return 0;
}

}  // namespace

void gather_limits(HostFacts& host) {
  const Limit files = limit_of(RLIMIT_NOFILE);
  host.descriptors_soft = files.soft;
  host.descriptors_hard = files.hard;
  host.threads_wanted = kThreads;
  host.threads_limit = limit_of(RLIMIT_NPROC).soft;
  host.threads_error = try_threads();
  host.address_space_limit = limit_of(RLIMIT_AS).soft;
  host.address_space_wanted = samehost::DirectMemory::size(1) + samehost::InboxMemory::size(1) +
                              2 * sizeof(samehost::PacketRing) + kThreads * kStack + kOther;
  host.address_space_error = try_address_space(host.address_space_wanted);
  host.memlock_limit = limit_of(RLIMIT_MEMLOCK).soft;
}

}  // namespace softrnic::doctor
