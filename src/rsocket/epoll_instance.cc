#include "rsocket/epoll_instance.h"

#include <sys/eventfd.h>

#include <algorithm>
#include <chrono>
#include <optional>

#include "rsocket/socket_table.h"

namespace softrnic::rsocket {
namespace {

using std::chrono::steady_clock;

// The bits of <sys/epoll.h> that mean a state are those of <poll.h>.
constexpr std::uint32_t kStates = EPOLLIN | EPOLLPRI | EPOLLOUT | EPOLLERR | EPOLLHUP | EPOLLRDNORM |
                                  EPOLLRDBAND | EPOLLWRNORM | EPOLLWRBAND | EPOLLRDHUP;
static_assert(EPOLLIN == POLLIN && EPOLLOUT == POLLOUT && EPOLLHUP == POLLHUP && EPOLLRDNORM == POLLRDNORM);

struct Table {
  std::mutex mutex;
  std::map<int, EpollPtr> instances;
};

Table& table() {
  static auto& only = *new Table;  // lives on: threads may be in it when the process ends
  return only;
}

}  // namespace

class EpollInstance::Waiting {
 public:
  Waiting(EpollInstance& instance, const std::lock_guard<std::mutex>&) : instance_(instance) {
    waker().clear();
    instance_.sleepers_.add(waker());
  }
  ~Waiting() {
    const std::lock_guard lock(instance_.mutex_);
    instance_.sleepers_.remove(waker());
  }
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;
  int fd() const { return waker().fd(); }

 private:
  /// Beside Waker::mine(), on which poll_sockets() sleeps.
  static Waker& waker() {
    thread_local Waker mine;
    return mine;
  }
  EpollInstance& instance_;
};

Result<EpollPtr> EpollInstance::make(int flags) {
  if ((flags & ~(O_CLOEXEC | O_NONBLOCK)) != 0) return fail(EINVAL);
  UniqueFd fd(above_stdio(eventfd(0, EFD_NONBLOCK | ((flags & O_CLOEXEC) != 0 ? EFD_CLOEXEC : 0))));
  if (!fd) return fail_errno();
  return EpollPtr(new EpollInstance(std::move(fd)));
}

Result<void> EpollInstance::control(int operation, int fd, const epoll_event* event) {
  if (fd < 0 || (find_socket(fd) == nullptr && fcntl(fd, F_GETFD) < 0)) return fail(EBADF);
  if (fd == this->fd()) return fail(EINVAL);
  if (operation != EPOLL_CTL_DEL && event == nullptr) return fail(EFAULT);
  const std::lock_guard lock(mutex_);
  const auto found = interests_.find(fd);
  switch (operation) {
    case EPOLL_CTL_ADD:
      if (found != interests_.end()) return fail(EEXIST);
      interests_[fd] = {*event, false};
      break;
    case EPOLL_CTL_MOD:
      if (found == interests_.end()) return fail(ENOENT);
      found->second = {*event, false};
      break;
    case EPOLL_CTL_DEL:
      if (found == interests_.end()) return fail(ENOENT);
      interests_.erase(found);
      break;
    default:
      return fail(EINVAL);
  }
  sleepers_.wake_all();
  return {};
}

void EpollInstance::forget(int fd) {
  const std::lock_guard lock(mutex_);
  if (interests_.erase(fd) != 0) sleepers_.wake_all();
}

void EpollInstance::close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  sleepers_.wake_all();
}

std::vector<pollfd> EpollInstance::wanted() const {
  std::vector<pollfd> out;
  out.reserve(interests_.size() + 1);
  for (const auto& [fd, interest] : interests_) {
    if (!interest.disabled) out.push_back({fd, static_cast<short>(interest.event.events & kStates), 0});
  }
  const auto first =
      std::find_if(out.begin(), out.end(), [this](const pollfd& one) { return one.fd > last_reported_; });
  std::rotate(out.begin(), first, out.end());
  return out;
}

int EpollInstance::report(std::span<const pollfd> found, std::span<epoll_event> events) {
  std::size_t count = 0;
  for (const pollfd& one : found) {
    if (one.revents == 0) continue;
    const auto interest = interests_.find(one.fd);
    if (interest == interests_.end() || interest->second.disabled) continue;
    if ((one.revents & POLLNVAL) != 0) {  // epoll(7) forgets what is closed
      interests_.erase(interest);
      continue;
    }
    const epoll_event& asked = interest->second.event;
    const std::uint32_t is =
        static_cast<std::uint32_t>(one.revents) & (asked.events | EPOLLERR | EPOLLHUP) & kStates;
    if (is == 0) continue;
    if (count == events.size()) break;
    events[count].events = is;
    events[count++].data = asked.data;
    interest->second.disabled = (asked.events & EPOLLONESHOT) != 0;
    last_reported_ = one.fd;
  }
  return static_cast<int>(count);
}

Result<int> EpollInstance::wait(std::span<epoll_event> events, int timeout_ms) {
  const auto start = steady_clock::now();
  for (int left = timeout_ms;;) {
    std::optional<Waiting> waiting;
    std::vector<pollfd> descriptors;
    {
      const std::lock_guard lock(mutex_);
      if (closed_) return fail(EBADF);
      descriptors = wanted();
      waiting.emplace(*this, lock);
    }
    descriptors.push_back({waiting->fd(), POLLIN, 0});
    const auto found = poll_sockets(descriptors.data(), descriptors.size(), left);
    if (!found) return fail(found.error());
    descriptors.pop_back();
    {
      const std::lock_guard lock(mutex_);
      if (const int count = report(descriptors, events); count > 0 || *found == 0) return count;
    }
    if (timeout_ms < 0) continue;
    const auto gone =
        std::chrono::duration_cast<std::chrono::milliseconds>(steady_clock::now() - start).count();
    left = gone < timeout_ms ? timeout_ms - static_cast<int>(gone) : 0;
  }
}

EpollPtr find_epoll(int fd) {
  const std::lock_guard lock(table().mutex);
  const auto found = table().instances.find(fd);
  return found != table().instances.end() ? found->second : nullptr;
}

void enter_epoll(const EpollPtr& instance) {
  const std::lock_guard lock(table().mutex);
  table().instances[instance->fd()] = instance;
}

EpollPtr leave_epoll(int fd) {
  const std::lock_guard lock(table().mutex);
  const auto node = table().instances.extract(fd);
  return node.empty() ? nullptr : node.mapped();
}

void forget_in_epolls(int fd) {
  const std::lock_guard lock(table().mutex);
  for (const auto& [number, instance] : table().instances) instance->forget(fd);
}

}  // namespace softrnic::rsocket
