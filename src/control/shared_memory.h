// Memory for several processes: memfds of a fixed size.
#pragma once

#include <cstddef>

#include "base/unique_fd.h"

namespace softrnic::control {

/// A memfd of `bytes` zeros, sealed against shrinking and growing. No fd and errno: none is to be had.
UniqueFd make_shared_memory(const char* name, std::size_t bytes);

/// Whether `fd` is such a memfd, of at least `bytes`: only then does no access to it end in SIGBUS.
bool is_shared_memory(int fd, std::size_t bytes);

/// `bytes` of the memfd from `offset` (a multiple of the page size) on, for reading and writing; not there in forked
/// children, nor in core dumps. nullptr: it is smaller or not sealed, or there is no room.
void* map_shared_memory(int fd, std::size_t bytes, std::size_t offset = 0);

}  // namespace softrnic::control
