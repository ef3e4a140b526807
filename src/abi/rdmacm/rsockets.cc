// rsockets are not there yet: every call fails with EOPNOTSUPP.
#include <rdma/rsocket.h>
#include <sys/epoll.h>

#include <cerrno>

#include "abi/calls.h"
#include "abi/export.h"
#include "abi/rdmacm/session.h"
#include "base/reason.h"
#include "rnic/refusal.h"

namespace {

int refuse() {
  errno = softrnic::rnic::refused(EOPNOTSUPP, softrnic::ReasonId::rsockets_later).error.error;
  return -1;
}

}  // namespace

#define RSOCKET_CALL(type, name, parameters) \
  SOFTRNIC_EXPORT type name parameters { return static_cast<type>(refuse()); }

/// Of releases after that of the headers here.
#define LATER_RSOCKET_CALL(type, name, parameters) \
  SOFTRNIC_VERSIONED(type, name, "RDMACM_1.5", parameters) { return static_cast<type>(refuse()); }

/// Asks for the session, as an rsocket will: with it comes who hears the explanation.
SOFTRNIC_EXPORT int rsocket(int, int, int) {
  static_cast<void>(softrnic::abi::guarded(softrnic::rdmacm::current_session));
  return refuse();
}

RSOCKET_CALL(int, rbind, (int, const sockaddr*, socklen_t))
RSOCKET_CALL(int, rlisten, (int, int))
RSOCKET_CALL(int, raccept, (int, sockaddr*, socklen_t*))
RSOCKET_CALL(int, rconnect, (int, const sockaddr*, socklen_t))
RSOCKET_CALL(int, rshutdown, (int, int))
RSOCKET_CALL(int, rclose, (int))
RSOCKET_CALL(ssize_t, rrecv, (int, void*, size_t, int))
RSOCKET_CALL(ssize_t, rrecvfrom, (int, void*, size_t, int, sockaddr*, socklen_t*))
RSOCKET_CALL(ssize_t, rrecvmsg, (int, msghdr*, int))
RSOCKET_CALL(ssize_t, rsend, (int, const void*, size_t, int))
RSOCKET_CALL(ssize_t, rsendto, (int, const void*, size_t, int, const sockaddr*, socklen_t))
RSOCKET_CALL(ssize_t, rsendmsg, (int, const msghdr*, int))
RSOCKET_CALL(ssize_t, rread, (int, void*, size_t))
RSOCKET_CALL(ssize_t, rreadv, (int, const iovec*, int))
RSOCKET_CALL(ssize_t, rwrite, (int, const void*, size_t))
RSOCKET_CALL(ssize_t, rwritev, (int, const iovec*, int))
RSOCKET_CALL(int, rpoll, (pollfd*, nfds_t, int))
RSOCKET_CALL(int, rselect, (int, fd_set*, fd_set*, fd_set*, timeval*))
RSOCKET_CALL(int, rgetpeername, (int, sockaddr*, socklen_t*))
RSOCKET_CALL(int, rgetsockname, (int, sockaddr*, socklen_t*))
RSOCKET_CALL(int, rsetsockopt, (int, int, int, const void*, socklen_t))
RSOCKET_CALL(int, rgetsockopt, (int, int, int, void*, socklen_t*))
RSOCKET_CALL(int, rfcntl, (int, int, ...))
RSOCKET_CALL(off_t, riomap, (int, void*, size_t, int, int, off_t))
RSOCKET_CALL(int, riounmap, (int, void*, size_t))
RSOCKET_CALL(size_t, riowrite, (int, const void*, size_t, off_t, int))
LATER_RSOCKET_CALL(int, repoll_create, (int))
LATER_RSOCKET_CALL(int, repoll_ctl, (int, int, int, epoll_event*))
LATER_RSOCKET_CALL(int, repoll_wait, (int, epoll_event*, int, int))
