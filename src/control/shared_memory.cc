#include "control/shared_memory.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace softrnic::control {
namespace {

/// Beyond RLIMIT_FSIZE the kernel does not only refuse: SIGXFSZ ends the program.
bool file_may_grow_to(std::size_t bytes) {
  rlimit limit{};
  return getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur >= bytes;
}

UniqueFd make_memfd(const char* name, std::size_t bytes) {
  if (!file_may_grow_to(bytes)) {
    errno = EFBIG;
    return UniqueFd();
  }
  UniqueFd fd(above_stdio(memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING)));
  if (!fd || ftruncate(fd.get(), static_cast<off_t>(bytes)) != 0) return UniqueFd();
  return fd;
}

/// Whoever has the descriptor could add seals too, and so keep its owner from mapping more of it.
bool seal(const UniqueFd& fd, int more = 0) {
  return fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL | more) == 0;
}

void* map(int fd, std::size_t bytes, std::size_t offset, int protection) {
  void* const place =
      mmap(nullptr, bytes, protection, MAP_SHARED | MAP_NORESERVE, fd, static_cast<off_t>(offset));
  if (place == MAP_FAILED) return nullptr;
  madvise(place, bytes, MADV_DONTFORK);
  madvise(place, bytes, MADV_DONTDUMP);
  return place;
}

}  // namespace

UniqueFd make_shared_memory(const char* name, std::size_t bytes) {
  UniqueFd fd = make_memfd(name, bytes);
  return fd && seal(fd) ? std::move(fd) : UniqueFd();
}

// Also against holes that others punch: the seal forbids them all that writes (fcntl(2), Linux 5.1).
OwnedMemory make_owned_memory(const char* name, std::size_t bytes) {
  OwnedMemory memory{make_memfd(name, bytes)};
  if (!memory.fd) return {};
  memory.place = map(memory.fd.get(), bytes, 0, PROT_READ | PROT_WRITE);
  if (memory.place == nullptr) return {};
  if (seal(memory.fd, F_SEAL_FUTURE_WRITE)) return memory;
  munmap(memory.place, bytes);
  return {};
}

// A memfd of huge pages can be sealed too, but there may be no page for what was never touched.
bool is_shared_memory(int fd, std::size_t bytes) {
  struct stat status {};
  struct statfs system {};
  const int seals = fcntl(fd, F_GET_SEALS);
  return seals >= 0 && (seals & F_SEAL_SHRINK) != 0 && fstatfs(fd, &system) == 0 &&
         system.f_type == TMPFS_MAGIC && fstat(fd, &status) == 0 &&
         static_cast<std::size_t>(status.st_size) >= bytes;
}

void* map_shared_memory(int fd, std::size_t bytes, std::size_t offset) {
  return is_shared_memory(fd, offset + bytes) ? map(fd, bytes, offset, PROT_READ | PROT_WRITE) : nullptr;
}

const void* map_to_read(int fd, std::size_t bytes) {
  return is_shared_memory(fd, bytes) ? map(fd, bytes, 0, PROT_READ) : nullptr;
}

}  // namespace softrnic::control
