#include "link/fabric_message.h"

#include <sys/socket.h>

#include <cerrno>

namespace softrnic::link {

int send_fabric_message(int fd, Bytes message) {
  while (::send(fd, message.data(), message.size(), MSG_DONTWAIT | MSG_NOSIGNAL) < 0) {
    if (errno == EINTR) continue;
    return errno == ENOBUFS || errno == ENOMEM ? EAGAIN : errno;
  }
  return 0;
}

}  // namespace softrnic::link
