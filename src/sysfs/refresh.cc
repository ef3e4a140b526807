// libsoftrnic-sysfs.so: what the preload library calls when a program looks at the devices.
#include "sysfs/refresh.h"

#include <cerrno>
#include <chrono>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/settings.h"
#include "control/client.h"
#include "sysfs/folder.h"

namespace softrnic::sysfs {
namespace {

/// What this process knows of the devices. Waited for, not for ever: a forked child inherits it locked when
/// another thread was at it, and a file of a moment ago is better than none.
struct Known {
  std::timed_mutex mutex;
  Tree tree;
  TimePoint at{};
  bool with_counters = false;
};

Known& known() {
  static auto* const one = new Known;  // never destroyed: other threads may be inside at exit
  return *one;
}

constexpr std::chrono::milliseconds kPatience{50};
/// A program reads a hundred files in a row: they need not be asked for one by one.
constexpr std::chrono::milliseconds kSameLook{10};

bool is_fresh(const Known& now, bool counters) {
  return !now.tree.empty() && (now.with_counters || !counters) && monotonic_now() - now.at < kSameLook;
}

bool ask(Known& now, bool counters) {
  const auto client = control::Client::connect();
  if (!client) return false;
  const auto facts =
      gather(**client, counters ? Wanted::state_and_counters : Wanted::state, settings().device);
  if (!facts) return false;
  now.tree = make_tree(*facts);
  now.at = monotonic_now();
  now.with_counters = counters;
  return true;
}

int refresh(const char* root, std::string_view path) {
  Known& now = known();
  const std::unique_lock lock(now.mutex, kPatience);
  if (!lock) return EBUSY;
  const auto folder = open_folder(root);
  if (!folder) return folder.error();
  const bool counters = is_counter(path);
  if (!is_fresh(now, counters) && !ask(now, counters)) return ENOTCONN;
  // a folder that has other files gets them all, and so with their counters
  if (!now.with_counters && !has_shape(folder->get(), now.tree) && !ask(now, true)) return ENOTCONN;
  return write_one(folder->get(), now.tree, path);
}

}  // namespace
}  // namespace softrnic::sysfs

extern "C" __attribute__((visibility("default"))) int softrnic_sysfs_refresh(const char* root,
                                                                             const char* path) {
  const int before = errno;
  int error = ENOMEM;
  try {
    error = softrnic::sysfs::refresh(root, path);
  } catch (...) {  // no memory: the file is as old as it is
    error = ENOMEM;
  }
  errno = before;
  return error;
}
