#include "sysfs/preload/looked_up.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "sysfs/preload/redirect.h"
#include "sysfs/refresh.h"

namespace softrnic::sysfs {
namespace {

using Refresh = decltype(&softrnic_sysfs_refresh);

void* own_address() { return reinterpret_cast<void*>(&own_address); }

/// The library beside this one; nullptr when it does not load: then the files are as old as they are.
Refresh load() {
  Dl_info info{};
  if (dladdr(own_address(), &info) == 0 || info.dli_fname == nullptr) return nullptr;
  const char* const slash = std::strrchr(info.dli_fname, '/');
  char path[PATH_MAX];
  const int folder = slash != nullptr ? static_cast<int>(slash - info.dli_fname) : 0;
  const int length = std::snprintf(path, sizeof path, "%.*s/libsoftrnic-sysfs.so", folder, info.dli_fname);
  if (slash == nullptr || length < 0 || length >= static_cast<int>(sizeof path)) return nullptr;
  void* const library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  return library != nullptr ? reinterpret_cast<Refresh>(dlsym(library, "softrnic_sysfs_refresh")) : nullptr;
}

/// The library looks at files of its own, by way of us.
thread_local bool inside = false;

void bring_up_to_date(const char* plain) {
  static std::atomic<Refresh> refresh{nullptr};
  if (inside) return;
  inside = true;
  const int before = errno;
  if (refresh.load() == nullptr) refresh.store(load());
  if (const Refresh loaded = refresh.load()) loaded(root(), plain);
  errno = before;
  inside = false;
}

bool starts_inside() {
  char path[PATH_MAX];
  const char* const folder = root();
  return folder != nullptr && getcwd(path, sizeof path) != nullptr && behind(folder, path) != nullptr;
}

/// Whether a relative path can lead to our files: this process has looked at them, or was started among them.
std::atomic<bool>& has_looked() {
  static std::atomic<bool> has{starts_inside()};
  return has;
}

}  // namespace

const char* root() {
  const char* const folder = secure_getenv("SOFTRNIC_SYSFS");
  return folder != nullptr && folder[0] == '/' ? folder : nullptr;
}

LookedUp::LookedUp(const char* path) : path_(path) {
  char plain[PATH_MAX];
  if (!sysfs::is_ours(path, plain, sizeof plain) || root() == nullptr) return;
  if (!join(root(), plain, room_, sizeof room_)) return;
  has_looked().store(true, std::memory_order_relaxed);
  bring_up_to_date(plain);
  path_ = room_;
}

bool is_ours_by_descriptor(int fd, char* path) {
  if (fd < 0 || inside || !has_looked().load(std::memory_order_relaxed) || root() == nullptr) return false;
  char name[32];
  if (std::snprintf(name, sizeof name, "/proc/self/fd/%d", fd) < 0) return false;
  const int before = errno;
  const ssize_t length = readlink(name, path, PATH_MAX - 1);
  errno = before;
  if (length <= 0) return false;
  path[length] = 0;
  const char* const plain = behind(root(), path);
  if (plain == nullptr) return false;
  bring_up_to_date(plain);
  return true;
}

}  // namespace softrnic::sysfs
