// Memory for several processes: memfds of a fixed size.
#pragma once

#include <cstddef>

#include "base/unique_fd.h"

namespace softrnic::control {

/// A memfd of `bytes` zeros, sealed against shrinking, growing and further seals of others. No fd and
/// errno: none is to be had.
UniqueFd make_shared_memory(const char* name, std::size_t bytes);
/// A memfd of `bytes` zeros that only this one mapping can write: others may map it, but only to read.
struct OwnedMemory {
  UniqueFd fd;
  void* place = nullptr;  ///< as map_shared_memory(); nullptr: there is none, and errno
};
OwnedMemory make_owned_memory(const char* name, std::size_t bytes);

/// Whether `fd` is a memfd that cannot shrink, of at least `bytes` and of ordinary pages: only then does no
/// access to it end in SIGBUS. (A hole in one of huge pages may find no page to fill it.)
bool is_shared_memory(int fd, std::size_t bytes);

/// `bytes` of the memfd from `offset` (a multiple of the page size) on, for reading and writing; not there in
/// forked children, nor in core dumps. nullptr: it is smaller or not sealed, or there is no room.
void* map_shared_memory(int fd, std::size_t bytes, std::size_t offset = 0);
/// The same, for reading.
const void* map_to_read(int fd, std::size_t bytes);

}  // namespace softrnic::control
