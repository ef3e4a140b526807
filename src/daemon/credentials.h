// What ptrace(2) compares of two processes: their users, the namespaces that they are in, and their
// capabilities.
//
// The kernel decides who gets at whose memory (samehost/foreign_descriptor.h). This is for what the daemon
// itself hands out or lets itself be told, and keeps processes apart before they try.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>

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
  /// Of a client, by the user and number that this process has for it. `process` is its pidfd: a number that
  /// was given to another process meanwhile is noticed. What may not be looked at stays unknown.
  static Credentials of(uid_t user, pid_t pid, const UniqueFd& process);
  static Credentials own();

  /// What the process itself shows where this one may not look at its namespaces: an open file of one
  /// (/proc/self/ns/user or pid). It can have that only from a process of its user in that namespace. It is
  /// believed of a process without capabilities: which namespace they are good for cannot be seen. False: it
  /// is no such file.
  bool show_namespace(int file);

  uid_t user() const { return user_; }
  bool has_capabilities() const { return capabilities_.value_or(0) != 0; }
  /// By the rules of ptrace(2), as far as they can be read from /proc: not whether the other one is dumpable,
  /// nor what Yama or a policy says. Where this process has no /proc all of one user may.
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
  static std::optional<Namespace> namespace_of(pid_t pid, const char* name);
  void read(pid_t pid);
  bool known() const {
    return user_namespace_ && pid_namespace_ && capabilities_ && (!shown_ || *capabilities_ == 0);
  }

  uid_t user_ = static_cast<uid_t>(-1);
  std::optional<Namespace> user_namespace_, pid_namespace_;
  std::optional<std::uint64_t> capabilities_;  ///< permitted
  bool shown_ = false;                         ///< a namespace, by the process itself
};

}  // namespace softrnic::daemon
