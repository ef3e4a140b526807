// Abstract names of this user's own, in a namespace that all users share.
//
// Who binds an abstract name first has it, whoever that is. So a name proves nothing: reach_own()
// asks the kernel whose socket it leads to before anything is sent, and a name that is somebody
// else's is told with its holder.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <span>

#include "base/expected.h"
#include "base/reason.h"
#include "base/unique_fd.h"
#include "control/channel.h"

namespace softrnic::control {

/// A blocking SOCK_SEQPACKET socket that is connected to this user's listener of that name. Its calls give up
/// after `patience`. ECONNREFUSED: nobody listens there. EACCES: somebody else does.
Expected<UniqueFd, Failure> reach_own(const AbstractName& name, std::chrono::seconds patience);
/// The same for a listener of one of `holders`. EACCES has `untrusted` as its reason.
Expected<UniqueFd, Failure> reach(const AbstractName& name, std::chrono::seconds patience,
                                  std::span<const uid_t> holders, ReasonId untrusted);
/// Another patience of such a socket.
void set_patience(int fd, std::chrono::seconds patience);

/// A non-blocking SOCK_SEQPACKET socket that listens under that name. EADDRINUSE: it is held,
/// the reason says by whom.
Expected<UniqueFd, Failure> listen_as(const AbstractName& name, int backlog);

/// Whether another user has bound the name for SOCK_SEQPACKET, listening or not. False where
/// the kernel does not tell.
bool is_held_by_other(const AbstractName& name);

/// ReasonId::daemon_name_taken, with what can be seen of the holder.
Reason name_taken(const AbstractName& name);

/// A process of that socket, by its inode number; 0 when none can be seen.
pid_t process_with_socket(std::uint64_t inode);

/// `id` with a user, a process and its program's name: the figures {0}, {1} and {2:program}.
Reason because_of(ReasonId id, std::uint32_t uid, pid_t pid);

}  // namespace softrnic::control
