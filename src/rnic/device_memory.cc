#include "rnic/device_memory.h"

#include <sys/mman.h>

#include <cerrno>

#include "base/memory_copy.h"
#include "base/reason_id.h"
#include "base/reason_words.h"
#include "rnic/context.h"
#include "rnic/limits.h"
#include "rnic/refusal.h"

namespace softrnic::rnic {
namespace {

constexpr std::uint32_t kMostLogAlign = 12;  // mmap's
constexpr std::uint64_t kWord = 4;           // what adapters copy by

}  // namespace

Expected<std::unique_ptr<DeviceMemory>, Failure> DeviceMemory::create(Context& context, std::size_t length,
                                                                      std::uint32_t log_align) {
  if (length == 0 || log_align > kMostLogAlign)
    return refused(EINVAL, ReasonId::bad_device_memory, length, log_align, kMostLogAlign);
  const std::uint64_t limit = limits::kDeviceMemoryBytes;
  auto& in_use = context.counts.device_memory_bytes;
  std::uint64_t before = in_use.load();
  do {
    if (length > limit - before) return refused(ENOMEM, ReasonId::device_memory_full, length, limit, before);
  } while (!in_use.compare_exchange_weak(before, before + length));
  void* const bytes =
      mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (bytes == MAP_FAILED) {
    in_use -= length;
    return refused(ENOMEM, ReasonId::out_of_memory, length);
  }
  return std::unique_ptr<DeviceMemory>(new DeviceMemory(context, static_cast<std::byte*>(bytes), length));
}

DeviceMemory::~DeviceMemory() { munmap(bytes_, length_); }

Expected<void, Failure> DeviceMemory::destroy() {
  if (uses.users() != 0) return refused(EBUSY, ReasonId::object_busy, uses.users(), ObjectKind::dm);
  context_.counts.device_memory_bytes -= length_;
  return {};
}

Expected<void, Failure> DeviceMemory::check(std::uint64_t offset, std::size_t length) const {
  if (holds(offset, length) && offset % kWord == 0 && length % kWord == 0) return {};
  return refused(EINVAL, ReasonId::bad_device_memory_range, length, offset, length_);
}

Expected<void, Failure> DeviceMemory::copy_in(std::uint64_t offset, const void* from, std::size_t length) {
  if (auto ok = check(offset, length); !ok) return ok;
  copy_memory(bytes_ + offset, static_cast<const std::byte*>(from), length);
  return {};
}

Expected<void, Failure> DeviceMemory::copy_out(void* to, std::uint64_t offset, std::size_t length) const {
  if (auto ok = check(offset, length); !ok) return ok;
  copy_memory(static_cast<std::byte*>(to), bytes_ + offset, length);
  return {};
}

}  // namespace softrnic::rnic
