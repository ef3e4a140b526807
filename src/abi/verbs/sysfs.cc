// Reading of sysfs, which librdmacm and some providers do through libibverbs.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdarg>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "abi/provider_nodes.h"

namespace {

/// The file's text without its last newline, ended by NUL. Its length, or -1 when it
/// cannot be read or has no room.
int read_text(const char* path, char* buffer, std::size_t size) {
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return -1;
  const ssize_t got = read(fd, buffer, size);
  close(fd);
  if (got <= 0) return static_cast<int>(got);
  auto length = static_cast<std::size_t>(got);
  if (buffer[length - 1] == '\n') --length;
  if (length >= size) return -1;
  buffer[length] = '\0';
  return static_cast<int>(length);
}

std::string find_sysfs_path() {
  std::string path = "/sys";
  const char* wanted = secure_getenv("SYSFS_PATH");
  if (wanted != nullptr) path = wanted;
  while (!path.empty() && path.back() == '/') path.pop_back();
  return path.substr(0, std::min<std::size_t>(path.size(), 255));
}

/// The first fields of the provider interface's struct verbs_sysfs_dev, for its path only.
struct SysfsDevice {
  void* links[3];
  const void* match;
  unsigned flags;
  char sysfs_name[64];
  unsigned long sysfs_device;
  char ibdev_name[64];
  char ibdev_path[256];
};

}  // namespace

SOFTRNIC_EXPORT const char* ibv_get_sysfs_path(void);
SOFTRNIC_EXPORT int ibv_read_sysfs_file(const char* directory, const char* file, char* buffer,
                                        std::size_t size);
SINCE_34(softrnic_ibv_read_ibdev_sysfs_file, ibv_read_ibdev_sysfs_file);
SOFTRNIC_EXPORT int softrnic_ibv_read_ibdev_sysfs_file(char* buffer, std::size_t size, SysfsDevice* device,
                                                       const char* format, ...)
    __attribute__((format(printf, 4, 5)));

const char* ibv_get_sysfs_path(void) {
  static const std::string path = find_sysfs_path();
  return path.c_str();
}

int ibv_read_sysfs_file(const char* directory, const char* file, char* buffer, std::size_t size) {
  char path[PATH_MAX];
  const int length = std::snprintf(path, sizeof path, "%s/%s", directory, file);
  if (length < 0 || length >= static_cast<int>(sizeof path)) {
    errno = ENAMETOOLONG;
    return -1;
  }
  return read_text(path, buffer, size);
}

int softrnic_ibv_read_ibdev_sysfs_file(char* buffer, std::size_t size, SysfsDevice* device,
                                       const char* format, ...) {
  // softrnic's devices have no place in sysfs: their `sysfs` pointer is null.
  if (device == nullptr) {
    errno = EINVAL;
    return -1;
  }
  char file[PATH_MAX];
  va_list arguments;
  va_start(arguments, format);
  const int length = std::vsnprintf(file, sizeof file, format, arguments);
  va_end(arguments);
  if (length < 0 || length >= static_cast<int>(sizeof file)) {
    errno = ENAMETOOLONG;
    return -1;
  }
  return ibv_read_sysfs_file(device->ibdev_path, file, buffer, size);
}
