// Descriptors of another process, taken from it as far as the kernel lets this one attach to it.
//
// A process publishes the numbers of descriptors, which are no secret. Who is to have them fetches them
// itself, so the kernel decides: pidfd_getfd(2) asks for PTRACE_MODE_ATTACH_REALCREDS (the same user, no
// fewer capabilities, the same user namespace, a target that is dumpable, Yama). Nobody in between, such as
// the daemon, ever holds them.
//
// Where that call is not to be had (Linux before 5.6, seccomp filters of containers) a file or a pipe is
// opened anew from /proc/PID/fd. That takes PTRACE_MODE_READ_FSCREDS only, which is less: then attaching has
// to be tried as well.
#pragma once

#include <sys/types.h>

#include "base/descriptor_name.h"
#include "base/expected.h"
#include "base/unique_fd.h"

namespace softrnic::samehost {

struct ForeignDescriptor {
  UniqueFd fd;            ///< close-on-exec
  bool attached = false;  ///< the kernel has checked that this process may attach to the owner
};

/// The descriptor that `owner`, as this process numbers it, has under that name; one that was opened anew can
/// be read and written. A positive errno: EPERM, EACCES (ptrace(2)'s rules), ESRCH (no such process), EBADF
/// (something else is there by now).
Expected<ForeignDescriptor, int> take_descriptor(pid_t owner, const DescriptorName& name);

}  // namespace softrnic::samehost
