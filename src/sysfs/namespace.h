// The files by mounts: for programs that make their system calls themselves (linked statically, written in
// Go), which no preload library reaches.
//
// The program gets a mount namespace of its own, and a user namespace where it has not the right to the
// first. There one tmpfs lies over /sys/class/infiniband and its like. Where the host has no such folders,
// which nobody can make in sysfs, a tmpfs lies over /sys/class or /dev as well, with all that was there
// mounted in it again.
#pragma once

#include <sys/types.h>

#include <string>

#include "base/expected.h"
#include "base/unique_fd.h"

namespace softrnic::sysfs {

struct NamespaceTrouble {
  int error = 0;
  const char* step = "";  ///< what the kernel refused
};

/// Moves this process, which has one thread, to such a namespace. Returns the folder for the tree. After a
/// failure the process may be in a namespace where nothing works: try in a child.
Expected<UniqueFd, NamespaceTrouble> enter_namespace();

/// The same in a child that ends at once.
Expected<void, NamespaceTrouble> try_namespace();

/// Keeps the files in `folder` up to date as long as a process lives in the mount namespace that `first` is
/// in; the daemon is asked from outside, where it shows what it has. `device`: see gather().
void keep_up_to_date(int folder, pid_t first, const std::string& mount_namespace, const std::string& device);

/// "mnt:[4026531841]" of a process; empty when it cannot be told.
std::string mount_namespace_of(pid_t process);

}  // namespace softrnic::sysfs
