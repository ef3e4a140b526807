#include "rnic/on_demand_memory.h"

#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <mutex>
#include <new>

namespace softrnic::rnic {
namespace {

using Copy = ssize_t (*)(pid_t, const iovec*, unsigned long, const iovec*, unsigned long, unsigned long);

// For the kernel the on-demand side is the calling process, whose faults it resolves as it would in read(2);
// the other side, here memory of our own, is the process that is looked up. That one has to be of pages that
// can be pinned, which those of a mapped dma-buf or device are not.
bool copies(Copy copy, void* own, void* on_demand, std::size_t size) {
  const iovec here{on_demand, size};
  const iovec there{own, size};
  return copy(getpid(), &here, 1, &there, 1, 0) == static_cast<ssize_t>(size);
}

std::mutex& atomics() {
  static std::mutex& mutex = *new std::mutex;  // never destroyed: lanes may outlive static objects
  return mutex;
}

bool probe() {
  std::byte from{}, to{};
  return OnDemandMemory::read(&to, &from, 1) && OnDemandMemory::write(&to, &from, 1);
}

}  // namespace

bool OnDemandMemory::supported() {
  static const bool supported = probe();
  return supported;
}

bool OnDemandMemory::read(std::byte* to, const std::byte* from, std::size_t size) {
  return copies(process_vm_writev, to, const_cast<std::byte*>(from), size);
}

bool OnDemandMemory::write(std::byte* to, const std::byte* from, std::size_t size) {
  return copies(process_vm_readv, const_cast<std::byte*>(from), to, size);
}

std::optional<std::uint64_t> OnDemandMemory::execute(std::byte* word, const ib::AtomicOperation& operation) {
  const std::lock_guard lock(atomics());
  std::uint64_t value = 0;
  auto* const own = reinterpret_cast<std::byte*>(&value);
  if (!read(own, word, sizeof value)) return std::nullopt;
  const std::uint64_t before = ib::execute(&value, operation);
  if (!write(word, own, sizeof value)) return std::nullopt;
  return before;
}

bool OnDemandMemory::prefetch(std::uint64_t address, std::uint64_t length, bool to_write) {
  const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  const std::uint64_t begin = address & ~(page - 1);
  const std::uint64_t bytes = address + length - begin;
#ifdef MADV_POPULATE_WRITE
  const int advice = to_write ? MADV_POPULATE_WRITE : MADV_POPULATE_READ;  // Linux 5.14
  if (madvise(reinterpret_cast<void*>(begin), bytes, advice) == 0) return true;
  if (errno != EINVAL) return false;
#endif
  for (std::uint64_t at = begin; at < begin + bytes; at += page) {
    std::byte
        value{};  // not written back, to_write or not: that could undo what the program writes meanwhile
    if (!read(&value, reinterpret_cast<std::byte*>(at), 1)) return false;
  }
  return true;
}

std::byte* BounceBuffer::of(std::size_t size) {
  if (size > size_) {
    bytes_.reset(new (std::nothrow) std::byte[size]);
    size_ = bytes_ != nullptr ? size : 0;
  }
  return bytes_.get();
}

}  // namespace softrnic::rnic
