// System calls that filters of containers forbid. Each is tried in a process of its own, as a filter may end
// who tries; with arguments that change nothing.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include <cerrno>
#include <csignal>

#include "doctor/child.h"
#include "doctor/gather.h"

namespace softrnic::doctor {
namespace {

int error_of(long result) { return result < 0 ? errno : 0; }

/// rseq(2) refuses an area of no length with EINVAL, if it is there at all.
int try_rseq() {
  const int error = error_of(syscall(SYS_rseq, nullptr, 0, 0, 0));
  return error == EINVAL ? 0 : error;
}
int try_vm_readv() { return error_of(process_vm_readv(getpid(), nullptr, 0, nullptr, 0, 0)); }
int try_vm_writev() { return error_of(process_vm_writev(getpid(), nullptr, 0, nullptr, 0, 0)); }
int try_pidfd_open() { return error_of(syscall(SYS_pidfd_open, getpid(), 0)); }
/// Of no process: EBADF when the call is there.
int try_pidfd_getfd() {
  const int error = error_of(syscall(SYS_pidfd_getfd, -1, 0, 0));
  return error == EBADF ? 0 : error;
}
int try_memfd() { return error_of(memfd_create("doctor", MFD_CLOEXEC)); }

struct Try {
  CallFacts facts;
  int (*make)();
};
constexpr Try kTries[] = {
    {{"rseq", "peers that have it do not let this program at their memory"}, try_rseq},
    {{"process_vm_readv", "data goes in packets through shared memory"}, try_vm_readv},
    {{"process_vm_writev", "data goes in packets through shared memory"}, try_vm_writev},
    {{"pidfd_open", "the daemon takes programs for strangers to each other"}, try_pidfd_open},
    {{"pidfd_getfd", "descriptors of peers are opened anew from /proc"}, try_pidfd_getfd},
    {{"memfd_create", "programs share no memory and show no counters"}, try_memfd},
};

/// The error; kKilled.
int tried(int (*make)()) {
  const auto found = in_child(make);
  return found ? *found : kKilled;
}

}  // namespace

void gather_calls(SameHostFacts& here) {
  here.filtered = prctl(PR_GET_SECCOMP) > 0;
  const bool children = in_child([] { return 1; }).has_value();
  for (const Try& one : kTries) {
    here.calls.push_back(one.facts);
    here.calls.back().error = children ? tried(one.make) : one.make();
  }
}

}  // namespace softrnic::doctor
