// The rsockets of the process by descriptor.
#pragma once

#include "rsocket/socket.h"

namespace softrnic::rsocket {

/// Thread-safe. Who has found a socket keeps it, though another thread closes it.
SocketPtr find_socket(int fd);
void enter_socket(const SocketPtr& socket);
/// Takes it out of the table.
SocketPtr leave_socket(int fd);

/// rpoll: rsockets and other descriptors together.
Result<int> poll_sockets(pollfd* descriptors, nfds_t count, int timeout_ms);

}  // namespace softrnic::rsocket
