// Which paths lead to softrnic's files instead. Pure; no allocation, as it runs inside open(2).
#pragma once

#include <cstddef>

namespace softrnic::sysfs {

/// Whether `path` is one of the folders of RDMA devices under /sys/class and /dev, or below one. It is
/// looked at as the kernel would: repeated slashes and "." mean nothing, and a path that leaves the folder
/// again by ".." is not ours. If it is ours, `plain` gets the path without them, "/sys/class/infiniband/…";
/// false when it has no room.
bool is_ours(const char* path, char* plain, std::size_t size);

/// `root` and `plain` one after the other. False when `out` has no room.
bool join(const char* root, const char* plain, char* out, std::size_t size);

/// What is behind `root` in `path`, which begins with "/" or is empty; nullptr when `path` is not below
/// `root`.
const char* behind(const char* root, const char* path);

}  // namespace softrnic::sysfs
