// umad_send, umad_recv, umad_poll.
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>

#include <algorithm>
#include <cstring>

#include "abi/export.h"
#include "abi/umad/buffers.h"
#include "abi/umad/calls.h"
#include "abi/umad/process.h"
#include "abi/umad/structures.h"
#include "base/reason_id.h"

namespace softrnic::umad {
namespace {

/// While a thread is inside it cannot be cancelled: that would unwind through what may not be left halfway.
class NoCancellation {
 public:
  NoCancellation() { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_); }
  ~NoCancellation() { pthread_setcancelstate(before_, nullptr); }
  NoCancellation(const NoCancellation&) = delete;
  NoCancellation& operator=(const NoCancellation&) = delete;

 private:
  int before_ = PTHREAD_CANCEL_ENABLE;
};

mad::Peer peer_of(const ib_mad_addr& address) {
  mad::Peer peer;
  peer.qpn = Qpn(__builtin_bswap32(address.qpn) & 0xffffff);
  peer.qkey = __builtin_bswap32(address.qkey);
  peer.lid = __builtin_bswap16(address.lid);
  peer.sl = address.sl;
  peer.path_bits = address.path_bits;
  peer.has_grh = address.grh_present != 0;
  peer.gid_index = address.gid_index;
  peer.hop_limit = address.hop_limit;
  peer.traffic_class = address.traffic_class;
  peer.flow_label = __builtin_bswap32(address.flow_label) & 0xfffff;
  std::memcpy(peer.gid.raw.data(), address.gid, sizeof address.gid);
  peer.pkey_index = address.pkey_index;
  return peer;
}

ib_mad_addr address_of(const mad::Peer& peer) {
  ib_mad_addr address{};
  address.qpn = __builtin_bswap32(peer.qpn.value);
  address.lid = __builtin_bswap16(peer.lid);
  address.sl = peer.sl;
  address.path_bits = peer.path_bits;
  address.pkey_index = peer.pkey_index;
  if (!peer.has_grh) return address;
  address.grh_present = 1;
  address.gid_index = peer.gid_index;
  address.hop_limit = peer.hop_limit;
  address.traffic_class = peer.traffic_class;
  address.flow_label = __builtin_bswap32(peer.flow_label);
  std::memcpy(address.gid, peer.gid.raw.data(), sizeof address.gid);
  return address;
}

Expected<int, Failure> send(int fd, const ib_user_mad* umad, int length) {
  const auto port = this_process().find(fd);
  if (port == nullptr) return rnic::refused(EBADF, ReasonId::mad_no_port, fd);
  if (length < 0) return rnic::refused(EINVAL, ReasonId::mad_malformed, 0, 0);
  const auto* const message = reinterpret_cast<const std::byte*>(umad + 1);
  const mad::Outgoing outgoing{.to = peer_of(umad->addr),
                               .timeout_ms = umad->timeout_ms,
                               .retries = umad->retries,
                               .message = {message, static_cast<std::size_t>(length)}};
  const auto sent = heard(port->client->send(port->number, umad->agent_id, outgoing));
  if (!sent) return Unexpected{sent.error()};
  return 0;
}

void put_header(ib_user_mad* umad, const control::MadReceived& received) {
  umad->agent_id = received.agent;
  umad->status = static_cast<std::uint32_t>(received.status);
  umad->timeout_ms = received.timeout_ms;
  umad->retries = received.retries;
  umad->length = static_cast<std::uint32_t>(sizeof *umad) + received.body.length;
  umad->addr = address_of(control::from_record(received.from));
}

/// The bytes of the MAD, or an error with the message still there: EAGAIN, EINVAL (not even the first 256
/// bytes have room), ENOSPC (the header tells how much it needs), EIO.
Expected<int, int> receive(int fd, ib_user_mad* umad, std::size_t room) {
  if (fcntl(fd, F_GETFD) < 0) return Unexpected{EBADF};
  const auto port = this_process().find(fd);  // none: that of a parent, which can be read from
  std::unique_lock<std::mutex> lock;
  if (port != nullptr) lock = std::unique_lock(port->receiving);
  control::MadReceived received;
  std::vector<std::byte> message;
  int error = control::peek_mad(fd, received);
  if (error == EAGAIN || error == EIO) return Unexpected{error};
  const std::size_t length = received.body.length;
  if (error == 0 && room < std::min(length, mad::kMadBytes)) return Unexpected{EINVAL};
  if (error == 0 && room < length) {
    put_header(umad, received);
    return Unexpected{ENOSPC};
  }
  if (error == 0) error = control::read_mad(fd, received, message);
  if (error != 0) {  // nonsense, which nobody is to find again
    control::read_mad(fd, received, message);
    return Unexpected{EIO};
  }
  put_header(umad, received);
  std::copy(message.begin(), message.end(), reinterpret_cast<std::byte*>(umad + 1));
  return static_cast<int>(message.size());
}

/// As read(2) of ib_umad: the length, or -1 and errno. Not part of a function that waits, whose frame is to
/// have nothing that is done when a thread is cancelled in it.
[[gnu::noinline]] int receive_now(int fd, ib_user_mad* umad, int room) noexcept {
  const NoCancellation guard;
  int error = room < 0 ? EINVAL : 0;
  if (error == 0) {
    try {
      const auto got = receive(fd, umad, static_cast<std::size_t>(room));
      if (got) return *got;
      error = got.error();
    } catch (...) {
      error = ENOMEM;
    }
  }
  errno = error;
  return -1;
}

// A thread may be cancelled here (opensm ends its receiver so), and has nothing to be undone.
int wait(int fd, int timeout_ms) {
  pollfd ready{fd, POLLIN, 0};
  const int count = poll(&ready, 1, timeout_ms);
  if (count == 1) return 0;
  return count == 0 ? -ETIMEDOUT : -EIO;
}

bool may_wait(int fd) { return (fcntl(fd, F_GETFL) & O_NONBLOCK) == 0; }

}  // namespace
}  // namespace softrnic::umad

using namespace softrnic;
using namespace softrnic::umad;

SOFTRNIC_EXPORT int umad_send(int portid, int agentid, void* umad, int length, int timeout_ms, int retries) {
  errno = 0;
  auto* const mad = static_cast<ib_user_mad*>(umad);
  mad->timeout_ms = static_cast<std::uint32_t>(timeout_ms);
  mad->retries = static_cast<std::uint32_t>(retries);
  mad->agent_id = static_cast<std::uint32_t>(agentid);
  if (debug_level() > 1) dump(*mad);
  const NoCancellation guard;
  return value_or(-EIO, [&] { return send(portid, mad, length); });
}

SOFTRNIC_EXPORT int umad_recv(int portid, void* umad, int* length, int timeout_ms) {
  errno = 0;
  if (umad == nullptr || length == nullptr) {
    errno = EINVAL;
    return -EINVAL;
  }
  if (timeout_ms != 0) {
    const int waited = wait(portid, timeout_ms);
    if (waited < 0) {
      if (errno == 0) errno = -waited;
      return waited;
    }
  }
  auto* const mad = static_cast<ib_user_mad*>(umad);
  int got = receive_now(portid, mad, *length);
  while (got < 0 && errno == EAGAIN && may_wait(portid)) {
    if (wait(portid, -1) < 0) break;
    got = receive_now(portid, mad, *length);
  }
  if (got >= 0) {
    *length = got;
    return static_cast<int>(mad->agent_id);
  }
  *length = static_cast<int>(mad->length - sizeof *mad);  // means something with ENOSPC alone
  return -errno;
}

SOFTRNIC_EXPORT int umad_poll(int portid, int timeout_ms) { return wait(portid, timeout_ms); }
SOFTRNIC_EXPORT int umad_get_fd(int portid) { return portid; }
