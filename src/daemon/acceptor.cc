#include "daemon/acceptor.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <cerrno>
#include <utility>

#include "base/clock.h"

namespace softrnic::daemon {
namespace {

UniqueFd spare_descriptor() { return UniqueFd(open("/dev/null", O_RDONLY | O_CLOEXEC)); }

}  // namespace

Acceptor::Acceptor(EventLoop& loop, int listener, Handler accepted, Handler turn_away)
    : loop_(loop),
      listener_(listener),
      accepted_(std::move(accepted)),
      turn_away_(std::move(turn_away)),
      spare_(spare_descriptor()) {}

Acceptor::~Acceptor() { loop_.forget(listener_); }

bool Acceptor::begin() {
  return loop_.watch(listener_, EPOLLIN, [this] { accept(); });
}

UniqueFd Acceptor::accept_one() const {
  return UniqueFd(accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
}

void Acceptor::accept() {
  UniqueFd connection = accept_one();
  if (!connection) return accept_failed(errno);
  accepted_(std::move(connection));
}

void Acceptor::accept_failed(int error) {
  if (error == EAGAIN || error == EINTR || error == ECONNABORTED) return;
  if (error == EMFILE && spare_) {
    spare_.reset();
    if (UniqueFd connection = accept_one()) turn_away_(std::move(connection));
  } else {
    loop_.forget(listener_);
    listens_again_ = monotonic_now() + kPause;
  }
  if (!spare_) spare_ = spare_descriptor();
}

void Acceptor::advance(TimePoint now) {
  if (now < listens_again_) return;
  listens_again_ = begin() ? kNever : now + kPause;
}

}  // namespace softrnic::daemon
