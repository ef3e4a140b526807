#include "daemon/reuseport_order.h"

#include <arpa/inet.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/random.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "base/unique_fd.h"
#include "daemon/steering.h"
#include "wire/headers.h"

namespace softrnic::daemon {
namespace {

constexpr int kRounds = 16;           ///< for one place; each may meet drops of the socket's own
constexpr std::uint32_t kProbes = 3;  ///< in a round
constexpr int kMarkerPatience = 200;  ///< milliseconds, for the marker behind them
using Drops = std::vector<std::uint32_t>;

/// Sends through the host's own stack to the port of all lanes.
class ProbeSender {
 public:
  ProbeSender() : fd_(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(wire::kRoceUdpPort);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (fd_ && connect(fd_.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0) fd_.reset();
  }

  bool send(std::uint64_t number, std::uint8_t last) const {
    std::array<std::uint8_t, Probe::kLength> bytes{};
    bytes.fill(0xff);  // no opcode, and no lane
    for (unsigned i = 0; i < 8; ++i) bytes[16 + i] = static_cast<std::uint8_t>(number >> (56 - 8 * i));
    bytes.back() = last;
    return ::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(bytes.size());
  }

 private:
  UniqueFd fd_;
};

std::uint64_t random_number() {
  std::uint64_t number = 0;
  static_cast<void>(getrandom(&number, sizeof number, 0));
  return number;
}

Drops drops_of(std::span<const int> sockets) {
  Drops out;
  for (const int fd : sockets) {
    std::array<std::uint32_t, SK_MEMINFO_VARS> info{};
    socklen_t length = sizeof info;
    getsockopt(fd, SOL_SOCKET, SO_MEMINFO, info.data(), &length);
    out.push_back(info[SK_MEMINFO_DROPS]);
  }
  return out;
}

/// Waits for the marker, before which all probes of the round have been delivered.
bool marker_comes(int own, std::uint64_t number) {
  for (;;) {
    pollfd waiting{own, POLLIN, 0};
    if (poll(&waiting, 1, kMarkerPatience) <= 0) return false;
    std::array<std::uint8_t, Probe::kLength> bytes{};
    const ssize_t got = recv(own, bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_TRUNC);
    std::uint64_t found;
    std::memcpy(&found, bytes.data() + 16, sizeof found);
    if (got == static_cast<ssize_t>(bytes.size()) && be64toh(found) == number) return true;
  }
}

/// The sockets that have dropped as much as was sent to `place`: the one that stands there, and such as lost
/// packets of their own meanwhile.
std::vector<std::size_t> candidates(std::span<const int> sockets, int own, const ProbeSender& sender,
                                    std::uint32_t place) {
  const Probe probe{random_number(), place, static_cast<std::uint32_t>(sockets.size())};
  for (const int fd : sockets)
    if (drop_probes(fd, probe.number) != 0) return {};
  if (attach_steering(own, {probe.marker_place}, probe) != 0) return {};
  const Drops before = drops_of(sockets);
  for (std::uint32_t i = 0; i < kProbes; ++i) sender.send(probe.number, 0);
  if (!sender.send(probe.number, kMarker) || !marker_comes(own, probe.number)) return {};
  const Drops after = drops_of(sockets);
  std::vector<std::size_t> out;
  for (std::size_t i = 0; i < sockets.size(); ++i)
    if (after[i] - before[i] >= kProbes) out.push_back(i);
  return out;
}

}  // namespace

Expected<std::vector<std::uint32_t>, int> places_in_group(std::span<const int> sockets, int own) {
  std::vector<std::uint32_t> places(sockets.size(), kNoPlace);
  const ProbeSender sender;
  bool clear = true;
  for (std::uint32_t place = 0; clear && place < sockets.size(); ++place) {
    clear = false;
    for (int round = 0; !clear && round < kRounds; ++round) {
      const auto found = candidates(sockets, own, sender, place);
      clear = found.size() == 1 && places[found[0]] == kNoPlace;
      if (clear) places[found[0]] = place;
    }
  }
  for (const int fd : sockets) stop_dropping(fd);
  if (!clear) return Unexpected{EADDRINUSE};
  return places;
}

}  // namespace softrnic::daemon
