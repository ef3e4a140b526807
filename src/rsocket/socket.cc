#include "rsocket/socket.h"

#include "base/reason_id.h"

namespace softrnic::rsocket {
namespace {

Unexpected<int> of_streams(const Socket& socket) {
  return refused(EOPNOTSUPP, ReasonId::rsocket_streams_only, socket.type());
}

}  // namespace

Result<void> Socket::listen(int) { return of_streams(*this); }
Result<SocketPtr> Socket::accept() { return of_streams(*this); }
Result<off_t> Socket::map(void*, std::size_t, int, off_t) { return of_streams(*this); }
Result<void> Socket::unmap(void*, std::size_t) { return of_streams(*this); }
Result<std::size_t> Socket::write_mapped(Bytes, off_t, int) { return of_streams(*this); }

Result<void> Socket::wait_once(Lock& lock) {
  Waker& waker = Waker::mine();
  waker.clear();
  sleepers_.add(waker);
  std::vector<pollfd> descriptors;
  add_descriptors(descriptors);
  descriptors.push_back({waker.fd(), POLLIN, 0});
  lock.unlock();
  const int woken = poll(descriptors.data(), descriptors.size(), -1);
  const int error = errno;
  after_sleep(waker);
  lock.lock();
  if (woken < 0) return fail(error);
  return {};
}

}  // namespace softrnic::rsocket
