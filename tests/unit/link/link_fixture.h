// What the link tests share: packets, a receiver that remembers, sockets on ephemeral loopback ports.
#pragma once

#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "link/link.h"
#include "link/socket_address.h"
#include "transport/ib/ordered_copy.h"
#include "transport/ib/rx_packet.h"

namespace softrnic::link::test {

inline constexpr std::uint32_t kFabricPort = 3;  ///< of a host on an emulated fabric

struct Got {
  wire::Headers headers;
  std::vector<std::byte> payload;
  wire::Gid source, destination;
  std::uint8_t traffic_class, hop_limit;
  std::uint32_t interface_index;
  std::uint32_t packets;  ///< see ib::RxPacket
};

class Collector final : public Receiver {
 public:
  void packet(const ib::RxPacket& p) override {
    std::vector<std::byte> payload(p.payload_bytes());
    ib::copy(p.payload(), 0, payload.data(), payload.size());
    packets.push_back({p.packet.headers, std::move(payload), p.source, p.destination, p.traffic_class,
                       p.hop_limit, p.interface_index, p.packets});
  }
  /// Packets that came, drops included.
  std::size_t count() const {
    std::size_t sum = drops.size();
    for (const Got& got : packets) sum += got.packets;
    return sum;
  }
  void dropped(const Reason& reason, ib::Counter counter, Qpn, std::uint64_t count) override {
    drops.insert(drops.end(), count, {reason, counter});
  }
  std::vector<Got> packets;
  std::vector<std::pair<Reason, ib::Counter>> drops;
};

inline wire::Gid gid_of(const std::string& text) {
  in6_addr v6;
  if (inet_pton(AF_INET6, text.c_str(), &v6) == 1) return to_gid(v6);
  in_addr v4;
  inet_pton(AF_INET, text.c_str(), &v4);
  return wire::Gid::from_ipv4_be(v4.s_addr);
}

inline std::vector<std::byte> pattern(std::size_t bytes, unsigned seed) {
  std::vector<std::byte> out(bytes);
  for (std::size_t i = 0; i < bytes; ++i) out[i] = static_cast<std::byte>(i * 7 + seed + (i >> 8));
  return out;
}

/// Packets that own what they point to.
class PacketMaker {
 public:
  ib::AddressVector path;

  const ib::TxPacket& make(wire::Opcode opcode, std::uint32_t psn, std::vector<std::byte> payload,
                           std::size_t pieces = 1) {
    payloads_.push_back(std::move(payload));
    const auto& bytes = payloads_.back();
    packet_ = ib::TxPacket{};
    packet_.path = &path;
    packet_.headers.bth.opcode = opcode;
    packet_.headers.bth.psn = psn;
    packet_.headers.bth.destination = Qpn(0x010002);
    packet_.payload_bytes = static_cast<std::uint32_t>(bytes.size());
    const std::size_t step = bytes.size() / pieces;
    for (std::size_t i = 0; i < pieces && !bytes.empty(); ++i) {
      const std::size_t size = i + 1 == pieces ? bytes.size() - i * step : step;
      packet_.fragments[packet_.fragment_count++] = {bytes.data() + i * step, size, MemoryKey(1)};
    }
    return packet_;
  }

 private:
  std::deque<std::vector<std::byte>> payloads_;
  ib::TxPacket packet_;
};

/// A dual-stack socket bound to `address` and `port` (0: any); fails with -1.
inline int bound_socket(const std::string& address, std::uint16_t port, std::uint16_t& bound,
                        Family family = Family::dual) {
  const int fd =
      socket(family == Family::dual ? AF_INET6 : AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  const int off = 0;
  if (family == Family::dual) setsockopt(fd, SOL_IPV6, IPV6_V6ONLY, &off, sizeof off);
  SocketAddress at = to_socket_address(family, gid_of(address), port, 0, 0);
  if (bind(fd, &at.generic, at.size()) != 0) return -1;
  socklen_t size = sizeof at;
  getsockname(fd, &at.generic, &size);
  bound = port_of(at);
  return fd;
}

/// Reads until `count` packets (drops included) have come or nothing comes for a second.
inline void read_until(Link& link, Collector& collector, std::size_t count) {
  while (collector.count() < count) {
    if (link.receive(collector, TimePoint{}) != 0) continue;
    pollfd entry{link.readable_fd(), POLLIN, 0};
    if (poll(&entry, 1, 1000) <= 0) return;
  }
}

}  // namespace softrnic::link::test
