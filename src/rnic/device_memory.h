// Memory of the device (ibv_alloc_dm): what an adapter has on itself, so that no bus lies between. Here it is
// memory of the process; programs reach it by its calls and its regions alone, as everywhere.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/expected.h"
#include "base/reason.h"
#include "rnic/object.h"

namespace softrnic::rnic {

class Context;

class DeviceMemory {
 public:
  /// Zeros. EINVAL: no length, or an alignment beyond a page; ENOMEM: all of the device's memory
  /// (limits::kDeviceMemoryBytes) is in use by others.
  static Expected<std::unique_ptr<DeviceMemory>, Failure> create(Context& context, std::size_t length,
                                                                 std::uint32_t log_align);
  ~DeviceMemory();
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  /// EBUSY: regions lie in it. Delete the object afterwards.
  Expected<void, Failure> destroy();

  /// EINVAL: not all inside, or offset or length no multiple of 4.
  Expected<void, Failure> copy_in(std::uint64_t offset, const void* from, std::size_t length);
  Expected<void, Failure> copy_out(void* to, std::uint64_t offset, std::size_t length) const;

  std::size_t length() const { return length_; }
  std::byte* bytes() const { return bytes_; }
  bool holds(std::uint64_t offset, std::uint64_t length) const {
    return offset <= length_ && length <= length_ - offset;
  }
  UseCount uses;

 private:
  DeviceMemory(Context& context, std::byte* bytes, std::size_t length)
      : context_(context), bytes_(bytes), length_(length) {}
  Expected<void, Failure> check(std::uint64_t offset, std::size_t length) const;

  Context& context_;
  std::byte* const bytes_;
  const std::size_t length_;
};

}  // namespace softrnic::rnic
