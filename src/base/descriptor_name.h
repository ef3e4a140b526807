// A descriptor of another process of this host, as that names it.
#pragma once

#include <sys/stat.h>

#include <cstdint>

namespace softrnic {

/// Plain words, for messages.
struct DescriptorName {
  std::int32_t number = -1;  ///< -1: none
  std::uint32_t reserved = 0;
  std::uint64_t device = 0;  ///< these two tell whether what stands under the number is still the same file
  std::uint64_t inode = 0;

  bool names(int fd) const {
    struct stat status {};
    return fd >= 0 && fstat(fd, &status) == 0 && status.st_dev == device && status.st_ino == inode;
  }
};

/// Of a descriptor of this process.
inline DescriptorName name_of(int fd) {
  struct stat status {};
  if (fd < 0 || fstat(fd, &status) != 0) return {};
  return {.number = fd, .device = status.st_dev, .inode = status.st_ino};
}

}  // namespace softrnic
