#include "control/direct_locks.h"

#include <sys/mman.h>

#include <new>
#include <utility>

#include "control/shared_memory.h"

namespace softrnic::control {
namespace {

constexpr std::size_t kBytes = kDirectLocks * sizeof(DirectLock);

}  // namespace

UniqueFd DirectLocks::make() {
  UniqueFd fd = make_shared_memory("softrnic-locks", kBytes);
  if (!fd) return fd;
  void* const place = map_shared_memory(fd.get(), kBytes);
  if (place == nullptr) return UniqueFd();
  for (std::size_t i = 0; i < kDirectLocks; ++i) {
    auto* lock = new (static_cast<DirectLock*>(place) + i) DirectLock;
    lock->mutex.init();
  }
  munmap(place, kBytes);
  return fd;
}

DirectLocks::DirectLocks(const UniqueFd& fd)
    : locks_(fd ? static_cast<DirectLock*>(map_shared_memory(fd.get(), kBytes)) : nullptr) {}

DirectLocks::~DirectLocks() {
  if (locks_ != nullptr) munmap(locks_, kBytes);
}

DirectLocks& DirectLocks::operator=(DirectLocks&& other) noexcept {
  std::swap(locks_, other.locks_);
  return *this;
}

}  // namespace softrnic::control
