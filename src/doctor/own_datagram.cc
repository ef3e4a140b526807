#include "doctor/own_datagram.h"

#include <poll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>

#include "base/clock.h"
#include "link/socket_address.h"
#include "wire/headers.h"

namespace softrnic::doctor {
namespace {

constexpr std::chrono::milliseconds kPatience{1000};
constexpr std::size_t kHeader = 12;  ///< a BTH
constexpr std::size_t kLaneAt = 5;   ///< the top byte of its DestQP, by which the kernel steers
constexpr std::uint8_t kSendOnlyOfUd = 0x64;
using Probe = std::array<std::uint8_t, 48>;

/// As a packet of a queue pair that does not exist, with a number that nobody else knows.
Probe make_probe(std::uint8_t lane) {
  Probe probe{};
  probe[0] = kSendOnlyOfUd;
  probe[kLaneAt] = lane;
  static_cast<void>(getrandom(probe.data() + kHeader, probe.size() - kHeader, GRND_NONBLOCK) < 0);
  return probe;
}

int send_probe(const Probe& probe, link::Family family, const device::GidEntry& gid) {
  const UniqueFd socket(
      ::socket(family == link::Family::dual ? AF_INET6 : AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!socket) return errno;
  link::set_send_options(socket.get(), family);
  const auto to = link::to_socket_address(family, gid.gid, wire::kRoceUdpPort, gid.interface_index, 0);
  return sendto(socket.get(), probe.data(), probe.size(), 0, &to.generic, to.size()) < 0 ? errno : 0;
}

/// Other datagrams for the lane are nobody's: it has no queue pairs.
int await_probe(const Probe& probe, int socket) {
  const TimePoint limit = monotonic_now() + kPatience;
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(limit - monotonic_now()).count();
    pollfd waiting{socket, POLLIN, 0};
    if (left <= 0 || poll(&waiting, 1, static_cast<int>(left)) == 0) return ETIMEDOUT;
    Probe got{};
    const ssize_t bytes = recv(socket, got.data(), got.size(), MSG_DONTWAIT);
    if (bytes == static_cast<ssize_t>(got.size()) && got == probe) return 0;
    if (bytes < 0 && errno != EAGAIN && errno != EINTR) return errno;
  }
}

}  // namespace

AddressFacts send_to_own_address(const control::LaneGrant& lane, const device::GidEntry& gid) {
  AddressFacts facts{gid.gid.to_string(), 0, 0};
  const Probe probe = make_probe(lane.number);
  const TimePoint begin = monotonic_now();
  facts.error = send_probe(probe, lane.dual_stack ? link::Family::dual : link::Family::inet, gid);
  if (facts.error == 0) facts.error = await_probe(probe, lane.socket.get());
  facts.us = static_cast<std::uint64_t>((monotonic_now() - begin).count()) / 1000;
  return facts;
}

}  // namespace softrnic::doctor
