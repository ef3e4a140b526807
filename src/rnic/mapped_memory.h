// Whether memory of this process is there, without changing it.
#pragma once

#include <cstdint>

namespace softrnic::rnic {

/// Whether [address, address + length) is mapped and readable, and writable if `writable`. `length` > 0
/// and the range does not wrap. Small ranges are made present on the way, as registration does everywhere;
/// big ones stay untouched.
bool is_mapped(const void* address, std::uint64_t length, bool writable);

}  // namespace softrnic::rnic
