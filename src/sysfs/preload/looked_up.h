// What the preload library makes of a path that a program names.
#pragma once

#include <climits>
#include <cstddef>

namespace softrnic::sysfs {

/// Where to look instead. Lives on the stack of one call.
class LookedUp {
 public:
  /// Brings softrnic's files up to date if the path is one of them.
  explicit LookedUp(const char* path);

  /// The path to hand to the C library.
  const char* path() const { return path_; }

 private:
  const char* path_;
  char room_[PATH_MAX];
};

/// The folder of softrnic's files, or nullptr: `softrnic run` says where it is.
const char* root();

/// Of a file that was opened by a relative path: if it is one of softrnic's it may be old, so it is brought
/// up to date and the path in `path` (PATH_MAX) names it. False: it is not.
bool is_ours_by_descriptor(int fd, char* path);

}  // namespace softrnic::sysfs
