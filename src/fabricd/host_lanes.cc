#include "fabricd/host_lanes.h"

#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/clock.h"
#include "base/reason_id.h"
#include "wire/grh.h"
#include "wire/link_header.h"

namespace softrnic::fabricd {
namespace {

constexpr std::uint32_t kLastLane = kMostLanes - 1;
constexpr int kBuffer = 1 << 20;  ///< bytes asked for; the system's limit counts

/// Where a program begins to number its queue pairs: nobody can tell from those before.
std::uint32_t random_index() {
  std::uint16_t index = 0;
  [[maybe_unused]] const ssize_t taken = getrandom(&index, sizeof index, 0);
  return index == 0 ? 1 : index;
}

void size_buffer(int fd) { setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &kBuffer, sizeof kBuffer); }

/// The group that a frame is for; nothing if it has no GRH.
const std::byte* group_in(Bytes frame) {
  const auto lrh = wire::decode_link_header(frame.first<wire::kLrhBytes>());
  const bool global = lrh.next_header == wire::LinkNextHeader::iba_global;
  if (!global || frame.size() < wire::kLrhBytes + wire::kGrhBytes) return nullptr;
  return &frame[wire::kLrhBytes + wire::kGrhBytes - sizeof(wire::Gid)];
}

}  // namespace

bool HostLanes::Lane::stops_refusing() { return !socket.is_full() && std::exchange(has_refused, false); }

HostLanes::~HostLanes() {
  for (std::uint32_t number = 0; number < lanes_.size(); ++number) free(number);
}

Expected<daemon::LaneGrant, Failure> HostLanes::take(int, uid_t) {
  std::uint32_t number = last_;
  do {
    number = number % kLastLane + 1;
    if (number == last_ && lanes_[number] != nullptr)
      return Unexpected{refuse(ENOSPC, ReasonId::out_of_lanes, kLastLane)};
  } while (lanes_[number] != nullptr);
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) != 0)
    return Unexpected{refuse(errno, ReasonId::out_of_fds, errno)};
  auto lane = std::make_unique<Lane>(UniqueFd(ends[0]), UniqueFd(ends[1]), ports_);
  for (const int end : ends) size_buffer(end);
  lanes_[number] = std::move(lane);
  watch(number);
  last_ = number;
  made_ = std::max(made_, number + 1);
  ++used_;
  return daemon::LaneGrant{number, ends[1], random_index(), true, true};
}

void HostLanes::free(std::uint32_t number) {
  if (number >= lanes_.size() || lanes_[number] == nullptr) return;
  loop_.forget(lanes_[number]->socket.fd());
  lanes_[number].reset();
  --used_;
  takes_again();
}

int HostLanes::socket_of(std::uint32_t lane) const {
  return lane < lanes_.size() && lanes_[lane] != nullptr ? lanes_[lane]->programs.get() : -1;
}

std::uint32_t HostLanes::receive_buffer() const {
  int bytes = 0;
  socklen_t size = sizeof bytes;
  for (const auto& lane : lanes_so_far())
    if (lane != nullptr && getsockopt(lane->socket.fd(), SOL_SOCKET, SO_SNDBUF, &bytes, &size) == 0) break;
  return static_cast<std::uint32_t>(bytes);
}

void HostLanes::read(std::uint32_t number) {
  if (lanes_[number] == nullptr) return;
  lanes_[number]->socket.read();
  watch(number);
}

// Readable as long as its port takes packets, writable when it is full: an epoll instance tells of both by
// one handler, so that does both.
void HostLanes::watch(std::uint32_t number) {
  Lane& lane = *lanes_[number];
  const std::uint32_t events =
      (lane.socket.wants_to_read() ? EPOLLIN : 0U) | (lane.socket.is_full() ? EPOLLOUT : 0U);
  if (std::exchange(lane.watched_for, events) == events) return;
  if (events == 0) return loop_.forget(lane.socket.fd());
  const bool done = loop_.watch(lane.socket.fd(), events, [this, number] {
    Lane& ready = *lanes_[number];
    if (ready.socket.is_full()) ready.socket.flush(monotonic_now());
    if (ready.socket.wants_to_read()) ready.socket.read();
    watch(number);
    if (ready.stops_refusing()) takes_again();
  });
  if (!done) lane.watched_for = 0;  // to be tried again
}

void HostLanes::resume() {
  for (std::uint32_t number = 0; number < made_; ++number) {
    if (lanes_[number] == nullptr || lanes_[number]->socket.wants_to_read()) continue;
    lanes_[number]->socket.resume();
    read(number);
  }
}

bool HostLanes::deliver(std::uint8_t port, Bytes frame, Qpn to, TimePoint now) {
  if (to.value == Qpn::kMulticast) {
    deliver_to_group(port, frame, now);
    return true;
  }
  Lane* const lane = lanes_[to.lane()].get();
  if (lane == nullptr || lane->socket.deliver(port, frame, now)) return true;
  lane->has_refused = true;
  return false;
}

// Datagrams, which are lost where there is no room: to hold one for a lane would bring it to the others
// twice.
void HostLanes::deliver_to_group(std::uint8_t port, Bytes frame, TimePoint now) {
  const std::byte* const raw = group_in(frame);
  if (raw == nullptr) return;
  wire::Gid group;
  std::copy_n(raw, group.raw.size(), group.raw.begin());
  for (const auto& lane : lanes_so_far())
    if (lane != nullptr && lane->socket.has_joined(port, group)) lane->socket.deliver(port, frame, now);
}

// Most often it is here that a full lane is found to have room: its socket takes a message as soon as one has
// been read, but is writable only when it is nearly empty.
void HostLanes::flush(TimePoint now) {
  bool again = false;
  for (std::uint32_t number = 0; number < made_; ++number) {
    if (lanes_[number] == nullptr) continue;
    Lane& lane = *lanes_[number];
    lane.socket.flush(now);
    watch(number);
    again |= lane.stops_refusing();
  }
  if (again) takes_again();
}

TimePoint HostLanes::deadline() const {
  TimePoint due = kNever;
  for (const auto& lane : lanes_so_far())
    if (lane != nullptr && lane->has_refused) due = std::min(due, lane->socket.gives_up_at());
  return due;
}

void HostLanes::advance(TimePoint now) {
  if (deadline() > now) return;
  for (const auto& lane : lanes_so_far())
    if (lane != nullptr && lane->socket.gives_up_at() <= now) lane->has_refused = false;
  takes_again();
}

}  // namespace softrnic::fabricd
