#include "rnic/null_memory.h"

#include <sys/mman.h>

#include <new>

namespace softrnic::rnic {
namespace {

constexpr std::size_t kSinkBytes = 4U << 20;

// The same few MiB, again and again: mremap(2) of no bytes of a shared mapping maps its pages once more.
bool map_sink(std::byte* sink) {
  constexpr int kFlags = MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED;
  if (mmap(sink, kSinkBytes, PROT_READ | PROT_WRITE, kFlags, -1, 0) == MAP_FAILED) return false;
  for (std::uint64_t at = kSinkBytes; at < NullMemory::kBytes; at += kSinkBytes) {
    if (mremap(sink, 0, kSinkBytes, MREMAP_MAYMOVE | MREMAP_FIXED, sink + at) == MAP_FAILED) return false;
  }
  return true;
}

}  // namespace

const NullMemory* NullMemory::process() {
  static const NullMemory* const memory = make();
  return memory;
}

const NullMemory* NullMemory::make() {
  constexpr std::size_t kAll = 2 * kBytes;
  void* const place = mmap(nullptr, kAll, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (place == MAP_FAILED) return nullptr;
  auto* const zeros = static_cast<std::byte*>(place);
  auto* const memory = map_sink(sink_of(zeros)) ? new (std::nothrow) NullMemory(zeros) : nullptr;
  if (memory == nullptr) munmap(place, kAll);
  return memory;
}

}  // namespace softrnic::rnic
