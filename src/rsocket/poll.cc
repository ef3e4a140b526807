// rpoll: what poll() says of the descriptors below is not what it says of an rsocket. So every turn asks the
// rsockets first, and waits only when none has anything.
#include <algorithm>
#include <chrono>
#include <optional>

#include "rsocket/socket_table.h"

namespace softrnic::rsocket {
namespace {

using std::chrono::steady_clock;

class Turn {
 public:
  Turn(std::span<pollfd> wanted) : wanted_(wanted), sockets_(wanted.size()) {
    std::transform(wanted.begin(), wanted.end(), sockets_.begin(),
                   [](const pollfd& one) { return one.fd < 0 ? nullptr : find_socket(one.fd); });
  }

  int check() {
    int count = 0;
    others_.clear();
    for (std::size_t i = 0; i < wanted_.size(); ++i) {
      if (sockets_[i] != nullptr) {
        wanted_[i].revents = sockets_[i]->ready(wanted_[i].events);
        count += wanted_[i].revents != 0;
      } else {
        wanted_[i].revents = 0;
        others_.push_back(wanted_[i]);
      }
    }
    if (!others_.empty() && poll(others_.data(), others_.size(), 0) > 0) count += take_others();
    return count;
  }

  /// Waits until something happens, which the next check() will tell, or the time is over. 0 or an errno.
  int wait(int timeout_ms) {
    Waker& waker = Waker::mine();
    waker.clear();
    std::vector<pollfd> descriptors(others_);
    descriptors.push_back({waker.fd(), POLLIN, 0});
    std::size_t prepared = 0;
    bool ready = false;
    for (; prepared < sockets_.size() && !ready; ++prepared) {
      if (sockets_[prepared] == nullptr) continue;
      ready = sockets_[prepared]->prepare(wanted_[prepared].events, descriptors, waker) != 0;
    }
    int error = 0;
    if (!ready && poll(descriptors.data(), descriptors.size(), timeout_ms) < 0) error = errno;
    for (std::size_t i = 0; i < prepared; ++i) {
      if (sockets_[i] != nullptr) sockets_[i]->after_sleep(waker);
    }
    return error;
  }

 private:
  int take_others() {
    int count = 0;
    auto other = others_.begin();
    for (std::size_t i = 0; i < wanted_.size(); ++i) {
      if (sockets_[i] != nullptr) continue;
      wanted_[i].revents = other->revents;
      count += other->revents != 0;
      (other++)->revents = 0;
    }
    return count;
  }

  std::span<pollfd> wanted_;
  std::vector<SocketPtr> sockets_;
  std::vector<pollfd> others_;
};

int left_of(std::optional<steady_clock::time_point> end) {
  if (!end) return -1;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(*end - steady_clock::now()).count();
  return static_cast<int>(std::clamp<long long>(left, 0, 0x7fffffff));
}

}  // namespace

Result<int> poll_sockets(pollfd* descriptors, nfds_t count, int timeout_ms) {
  if (descriptors == nullptr && count > 0) return fail(EFAULT);
  Turn turn({descriptors, count});
  std::optional<steady_clock::time_point> end;
  const auto start = steady_clock::now();
  if (timeout_ms >= 0) end = start + std::chrono::milliseconds(timeout_ms);
  const auto poll_until = start + std::chrono::microseconds(defaults().polling_us);
  for (;;) {
    if (const int found = turn.check(); found > 0 || timeout_ms == 0) return found;
    if (steady_clock::now() < poll_until) continue;
    const int left = left_of(end);
    if (left == 0) return 0;
    if (const int error = turn.wait(left); error != 0) return fail(error);
  }
}

}  // namespace softrnic::rsocket
