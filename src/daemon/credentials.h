// What ptrace(2) compares of two processes of one user: the namespaces that they are in, and their
// capabilities.
//
// The kernel decides who gets at whose memory (samehost/foreign_descriptor.h). This is for what the daemon
// itself hands out or lets itself be told, and keeps processes apart before they try.
#pragma once

#include <sys/types.h>

#include <cstdint>

#include "base/unique_fd.h"

namespace softrnic::daemon {

/// A pidfd of the process that made the other end of a connection, whose number is `pid`; none: it is gone,
/// or of a PID namespace that cannot be seen from here.
UniqueFd peer_process(int socket, pid_t pid);

/// Whether /proc is there, and is that of this process's PID namespace: in another one the numbers are other
/// processes'.
bool proc_is_ours();

class Credentials {
 public:
  /// Of a process that must not be looked at: it may attach to nobody, and nobody to it.
  Credentials() = default;
  /// Of a client, by the number that this process has for it. `process` is its pidfd: a number that was given
  /// to another process meanwhile is noticed.
  static Credentials of(pid_t pid, const UniqueFd& process);
  static Credentials own();

  /// By the rules of ptrace(2), as far as they can be read from /proc: not whether the other one is dumpable,
  /// nor what Yama or a policy says. Where this process has no /proc all may.
  bool may_attach_to(const Credentials& other) const;
  bool may_attach_to_each_other(const Credentials& other) const {
    return may_attach_to(other) && other.may_attach_to(*this);
  }

 private:
  struct Namespace {
    std::uint64_t device = 0;
    std::uint64_t inode = 0;
    bool operator==(const Namespace&) const = default;
  };
  static bool read(pid_t pid, Credentials& out);
  static bool read_namespace(pid_t pid, const char* name, Namespace& out);

  bool known_ = false;
  Namespace user_, pid_;
  std::uint64_t capabilities_ = 0;  ///< permitted
};

}  // namespace softrnic::daemon
