#include "link/tcp_stream.h"

#include <linux/sockios.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/attempt.h"
#include "link/socket_address.h"

namespace softrnic::link {
namespace {

using wire::CaptureDirection;

constexpr std::size_t kUsualEmss = 1448;
/// Of what the peer has sent when a stream is closed: a receive buffer, as a rule.
constexpr std::size_t kDrainedAtOnce = 1 << 20;
constexpr std::size_t kMostDrained = 16 << 20;

/// A peer whose host is gone, or the network to it, or that takes nothing for so long: the kernel gives the
/// connection up (ETIMEDOUT) instead of going on for a quarter of an hour.
constexpr int kPatienceSeconds = 60;
constexpr int kProbesApartSeconds = 10;

int option(int fd, int level, int name) {
  int value = -1;
  socklen_t length = sizeof value;
  return getsockopt(fd, level, name, &value, &length) == 0 ? value : -1;
}

/// 0, or why the descriptor is no TCP socket that is connected; then between which addresses.
int check(int fd, wire::Flow& flow) {
  SocketAddress own{}, peer{};
  if (option(fd, SOL_SOCKET, SO_TYPE) < 0) return errno;
  if (option(fd, SOL_SOCKET, SO_PROTOCOL) != IPPROTO_TCP) return EPROTOTYPE;
  socklen_t length = sizeof peer;
  if (getpeername(fd, &peer.generic, &length) != 0) return errno;
  length = sizeof own;
  if (getsockname(fd, &own.generic, &length) != 0) return errno;
  flow.source = to_gid(own);
  flow.source_port = port_of(own);
  flow.destination = to_gid(peer);
  flow.destination_port = port_of(peer);
  return 0;
}

struct Option {
  int level;
  int name;
  int value;
};
/// For bytes that nobody acknowledges (RFC 5482), and for a connection on which nothing is under way: it is
/// probed (RFC 9293 3.8.4).
constexpr Option kBoundsOfSilence[] = {{IPPROTO_TCP, TCP_USER_TIMEOUT, kPatienceSeconds * 1000},
                                       {IPPROTO_TCP, TCP_KEEPIDLE, kProbesApartSeconds},
                                       {IPPROTO_TCP, TCP_KEEPINTVL, kProbesApartSeconds},
                                       {SOL_SOCKET, SO_KEEPALIVE, 1}};

int bound_silence(int fd) {
  for (const Option& each : kBoundsOfSilence)
    if (setsockopt(fd, each.level, each.name, &each.value, sizeof each.value) != 0) return errno;
  return 0;
}

TcpStream::Moved moved(ssize_t result) {
  TcpStream::Moved out;
  if (result >= 0) {
    out.bytes = static_cast<std::size_t>(result);
  } else if (errno != EAGAIN && errno != EINTR) {
    out.error = errno;
  }
  return out;
}

iovec place_of(MutableBytes bytes) { return {bytes.data(), bytes.size()}; }

}  // namespace

// A capture that lacks memory lacks a segment: bytes that have moved cannot be taken back.
template <typename Step>
void TcpStream::show(Step&& step) {
  if (capture_ != nullptr) attempt([&] { step(*capture_); });
}

int TcpStream::open(UniqueFd& socket, StreamTap* tap) {
  if (const int error = check(socket.get(), flow_)) return error;
  if (tap != nullptr) capture_ = std::make_unique<StreamCapture>(*tap, flow_);
  UniqueFd copy;
  if (socket.get() <= STDERR_FILENO) {
    copy.reset(fcntl(socket.get(), F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
    if (!copy) return errno;
  }
  const int fd = copy ? copy.get() : socket.get();
  const int flags = fcntl(fd, F_GETFL);
  const int on = 1;
  if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) != 0 || fcntl(fd, F_SETFD, FD_CLOEXEC) != 0 ||
      setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) != 0)
    return errno;
  if (const int error = bound_silence(fd)) return error;
  if (copy) socket = std::move(copy);
  socket_ = std::move(socket);
  return 0;
}

std::size_t TcpStream::emss() const {
  const int bytes = option(fd(), IPPROTO_TCP, TCP_MAXSEG);
  return bytes > 0 ? static_cast<std::size_t>(bytes) : kUsualEmss;
}

void TcpStream::show_begin(const iwarp::MpaAgreement& agreement, bool initiator) {
  show([&](StreamCapture& capture) { capture.begin(agreement, initiator); });
}

TcpStream::Moved TcpStream::read(MutableBytes room, MutableBytes behind) {
  std::array<iovec, 2> places{place_of(room), place_of(behind)};
  msghdr message{};
  message.msg_iov = places.data();
  message.msg_iovlen = places.size();
  const ssize_t result = room.empty() ? recv(fd(), behind.data(), behind.size(), MSG_DONTWAIT)
                                      : recvmsg(fd(), &message, MSG_DONTWAIT);
  Moved out = moved(result);
  out.ended = result == 0;
  show([&](StreamCapture& capture) {
    const Bytes pieces[] = {room, behind};
    if (out.bytes != 0) capture.moved(CaptureDirection::inbound, pieces, out.bytes);
    if (out.ended || out.error == ECONNRESET) capture.ended(CaptureDirection::inbound, !out.ended);
  });
  return out;
}

TcpStream::Moved TcpStream::write(std::span<const Bytes> pieces) {
  std::array<iovec, kMaxPieces> places;
  const std::size_t count = std::min(pieces.size(), places.size());
  for (std::size_t i = 0; i < count; ++i)
    places[i] = {const_cast<std::byte*>(pieces[i].data()), pieces[i].size()};
  msghdr message{};
  message.msg_iov = places.data();
  message.msg_iovlen = count;
  const Moved out = moved(sendmsg(fd(), &message, MSG_DONTWAIT | MSG_NOSIGNAL));
  show([&](StreamCapture& capture) {
    if (out.bytes != 0) capture.moved(CaptureDirection::outbound, pieces, out.bytes);
  });
  return out;
}

// Of a socket that does not tell nothing is waited for.
bool TcpStream::all_acknowledged() const {
  int bytes = 0;
  return ioctl(fd(), SIOCOUTQ, &bytes) != 0 || bytes == 0;
}

int TcpStream::shut_down() {
  if (shutdown(fd(), SHUT_WR) != 0) return errno;
  show([](StreamCapture& capture) { capture.ended(CaptureDirection::outbound, false); });
  shut_down_ = true;
  return 0;
}

void TcpStream::close() {
  if (!shut_down_) static_cast<void>(shut_down());
  std::size_t read = 0;
  for (ssize_t got = 1; got > 0 && read < kMostDrained;
       read += static_cast<std::size_t>(std::max<ssize_t>(got, 0)))
    got = recv(fd(), nullptr, kDrainedAtOnce, MSG_DONTWAIT | MSG_TRUNC);
  socket_.reset();
}

void TcpStream::cut() {
  const linger none{.l_onoff = 1, .l_linger = 0};
  static_cast<void>(setsockopt(fd(), SOL_SOCKET, SO_LINGER, &none, sizeof none));
  show([](StreamCapture& capture) { capture.ended(CaptureDirection::outbound, true); });
  socket_.reset();
}

}  // namespace softrnic::link
