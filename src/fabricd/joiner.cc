#include "fabricd/joiner.h"

#include <fmt/core.h>
#include <poll.h>
#include <sys/epoll.h>

#include <algorithm>
#include <utility>

#include "base/clock.h"

namespace softrnic::fabricd {

Expected<std::unique_ptr<Joiner>, std::string> Joiner::join(const std::string& host, std::uint16_t port,
                                                            std::string token) {
  const auto found = resolve(host, port);
  if (!found) return Unexpected{found.error()};
  std::string why;
  for (const TcpAddress& address : *found) {
    std::unique_ptr<Joiner> joiner(new Joiner(address, token));
    const auto done = joiner->try_now();
    if (done) return joiner;
    why = done.error();
  }
  return Unexpected{fmt::format("cannot join the fabric at {} port {}: {}", host, port, why)};
}

Joiner::~Joiner() {
  if (attempt_ && loop_ != nullptr && !attempt_->is_over()) loop_->forget(attempt_->fd());
}

Expected<void, std::string> Joiner::try_now() {
  JoinAttempt attempt(to_, token_, 0);
  const TimePoint end = monotonic_now() + kPatience;
  while (!attempt.is_over()) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - monotonic_now()).count();
    if (left <= 0) return Unexpected{std::string("it does not answer")};
    const bool writes = attempt.state() == JoinAttempt::State::connecting;
    pollfd waited{attempt.fd(), static_cast<short>(writes ? POLLOUT : POLLIN), 0};
    if (poll(&waited, 1, static_cast<int>(left)) > 0) attempt.advance();
  }
  if (attempt.state() == JoinAttempt::State::failed) return Unexpected{attempt.why()};
  index_ = attempt.index();
  first_ = attempt.take_stream();
  return {};
}

void Joiner::keep(daemon::EventLoop& loop, FabricCable& cable) {
  loop_ = &loop;
  cable_ = &cable;
  std::string peer = peer_of(first_->fd());
  cable.connect(std::move(first_), std::move(peer), monotonic_now());
}

void Joiner::begin(TimePoint now) {
  attempt_.emplace(to_, token_, index_);
  due_ = now + kPatience;
  if (!attempt_->is_over()) watch();
}

void Joiner::watch() {
  const bool writes = attempt_->state() == JoinAttempt::State::connecting;
  loop_->watch(attempt_->fd(), writes ? EPOLLOUT : EPOLLIN, [this] {
    loop_->forget(attempt_->fd());
    attempt_->advance();
    if (!attempt_->is_over()) watch();
  });
}

void Joiner::end_attempt(TimePoint now) {
  if (!attempt_->is_over()) loop_->forget(attempt_->fd());
  if (attempt_->state() == JoinAttempt::State::welcome) {
    auto stream = attempt_->take_stream();
    std::string peer = peer_of(stream->fd());
    cable_->connect(std::move(stream), std::move(peer), now);
  }
  attempt_.reset();
  due_ = now + kPause;
}

TimePoint Joiner::deadline() const {
  if (cable_->is_connected()) return kNever;
  if (attempt_ && attempt_->is_over()) return {};
  return attempt_ || due_ != kNever ? due_ : TimePoint{};
}

void Joiner::advance(TimePoint now) {
  if (cable_->is_connected()) return;
  if (attempt_ && (attempt_->is_over() || due_ <= now)) return end_attempt(now);
  if (!attempt_ && (due_ <= now || due_ == kNever)) begin(now);
}

}  // namespace softrnic::fabricd
