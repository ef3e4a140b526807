#include "tests/daemon/lane_packets.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <array>

namespace softrnic::tests {
namespace {

constexpr int kDeadSource = 40000;  ///< first source port of the test's packets

}  // namespace

bool send_packets(const std::vector<control::LaneGrant>& lanes, int count) {
  std::vector<UniqueFd> senders;
  for (int i = 0; i < 8; ++i) {
    senders.emplace_back(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    sockaddr_in from{};
    from.sin_family = AF_INET;
    from.sin_port = htons(static_cast<std::uint16_t>(kDeadSource + i));
    if (bind(senders.back().get(), reinterpret_cast<const sockaddr*>(&from), sizeof from) != 0) return false;
  }
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(4791);
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  std::array<unsigned char, 64> packet{};
  for (int i = 0; i < count; ++i) {
    for (const control::LaneGrant& lane : lanes) {
      packet[5] = lane.number;
      if (sendto(senders[i % 8].get(), packet.data(), packet.size(), 0,
                 reinterpret_cast<const sockaddr*>(&to), sizeof to) < 0)
        return false;
    }
  }
  return true;
}

int own_packets(const control::LaneGrant& lane) {
  std::array<unsigned char, 65536> data;
  int count = 0;
  for (;;) {
    const ssize_t got = recv(lane.socket.get(), data.data(), data.size(), MSG_DONTWAIT);
    if (got < 0) return count;
    for (ssize_t at = 0; at < got; at += 64) {  // UDP_GRO may join packets
      if (data[static_cast<std::size_t>(at) + 5] != lane.number) return -1;
      ++count;
    }
  }
}

}  // namespace softrnic::tests
