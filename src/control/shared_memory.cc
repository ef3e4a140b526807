#include "control/shared_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace softrnic::control {
namespace {

/// Beyond RLIMIT_FSIZE the kernel does not only refuse: SIGXFSZ ends the program.
bool file_may_grow_to(std::size_t bytes) {
  rlimit limit{};
  return getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur >= bytes;
}

}  // namespace

UniqueFd make_shared_memory(const char* name, std::size_t bytes) {
  if (!file_may_grow_to(bytes)) {
    errno = EFBIG;
    return UniqueFd();
  }
  UniqueFd fd(above_stdio(memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING)));
  if (!fd || ftruncate(fd.get(), static_cast<off_t>(bytes)) != 0 ||
      fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) != 0)
    return UniqueFd();
  return fd;
}

bool is_shared_memory(int fd, std::size_t bytes) {
  struct stat status {};
  const int seals = fcntl(fd, F_GET_SEALS);
  return seals >= 0 && (seals & F_SEAL_SHRINK) != 0 && fstat(fd, &status) == 0 &&
         static_cast<std::size_t>(status.st_size) >= bytes;
}

void* map_shared_memory(int fd, std::size_t bytes, std::size_t offset) {
  if (!is_shared_memory(fd, offset + bytes)) return nullptr;
  void* const place = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd,
                           static_cast<off_t>(offset));
  if (place == MAP_FAILED) return nullptr;
  madvise(place, bytes, MADV_DONTFORK);
  madvise(place, bytes, MADV_DONTDUMP);
  return place;
}

}  // namespace softrnic::control
