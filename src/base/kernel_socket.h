// Sockets of our own in processes whose calls of socket(2) somebody else answers.
#pragma once

#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace softrnic {

/// socket(2), past a library that is loaded before ours and makes rsockets of a program's sockets
/// (librspreload.so): below rsockets there have to be sockets of the kernel.
inline int kernel_socket(int domain, int type, int protocol) {
  return static_cast<int>(syscall(SYS_socket, domain, type, protocol));
}

}  // namespace softrnic
