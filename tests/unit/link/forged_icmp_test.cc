// ICMP is believed of anybody (RFC 5927): no message of it, whatever packet of ours it quotes, may
// keep a link from sending.
#include <gtest/gtest.h>
#include <netinet/ip.h>
#include <netinet/ip_icmp.h>
#include <netinet/udp.h>

#include <cstring>
#include <numeric>

#include "link/udp_link.h"
#include "tests/unit/link/link_fixture.h"

namespace softrnic::link::test {
namespace {

/// Too little for a packet of path MTU 1024; no less than net.ipv4.route.min_pmtu.
constexpr std::uint16_t kTold = 600;

struct Forgery {
  const char* name;
  std::uint8_t type;
  std::uint8_t code;
};

class ForgedIcmp : public ::testing::TestWithParam<Forgery> {
 protected:
  ForgedIcmp() {
    const int fd = bound_socket(peer_, 0, port_);
    receiver_.emplace(UdpLink::Options{.fd = fd, .port = port_, .peer_port = port_});
    const int own = bound_socket("127.0.0.1", port_, port_);
    sender_.emplace(UdpLink::Options{.fd = own, .port = port_, .peer_port = port_});
    maker_.path.source = gid_of("127.0.0.1");
    maker_.path.destination = gid_of(peer_);
  }

  /// Sends 20 packets of path MTU 1024, one by one and segmented; whether all arrived.
  void send_and_expect_all() {
    Collector got;
    const std::size_t refused_before = refusals();
    for (std::uint32_t i = 0; i < 20; ++i) {
      sender_->send(maker_.make(wire::Opcode::rc_send_only, i, pattern(1024, i)), TimePoint{});
      if (i % 2 == 0 && i < 10) sender_->flush(TimePoint{});
    }
    sender_->flush(TimePoint{});
    read_until(*receiver_, got, 20);
    EXPECT_EQ(refusals(), refused_before);
    EXPECT_EQ(got.packets.size(), 20U);
    EXPECT_TRUE(got.drops.empty());
  }

  std::size_t refusals() {
    static_cast<void>(sender_->receive(refused_, TimePoint{}));
    return refused_.drops.size();
  }

  /// As a router would send it, about a packet from `source_port`. False: not allowed here.
  bool forge(std::uint16_t source_port) const {
    struct {
      icmphdr icmp;
      iphdr ip;
      udphdr udp;
    } message{};
    message.icmp.type = GetParam().type;
    message.icmp.code = GetParam().code;
    if (GetParam().code == ICMP_FRAG_NEEDED) message.icmp.un.frag.mtu = htons(kTold);
    message.ip.version = 4;
    message.ip.ihl = 5;
    message.ip.tot_len = htons(1084);
    message.ip.frag_off = htons(IP_DF);
    message.ip.ttl = 60;
    message.ip.protocol = IPPROTO_UDP;
    message.ip.saddr = gid_of("127.0.0.1").ipv4_be();
    message.ip.daddr = gid_of(peer_).ipv4_be();
    message.udp.source = htons(source_port);
    message.udp.dest = htons(port_);
    message.udp.len = htons(1064);
    std::uint16_t words[sizeof message / 2];
    std::memcpy(words, &message, sizeof message);
    std::uint32_t sum = std::accumulate(std::begin(words), std::end(words), 0U);
    while (sum > 0xffff) sum = (sum >> 16) + (sum & 0xffff);
    message.icmp.checksum = static_cast<std::uint16_t>(~sum);
    const int fd = socket(AF_INET, SOCK_RAW | SOCK_CLOEXEC, IPPROTO_ICMP);
    if (fd < 0) return false;
    const SocketAddress to = to_socket_address(Family::inet, gid_of("127.0.0.1"), 0, 0, 0);
    EXPECT_EQ(sendto(fd, &message, sizeof message, 0, &to.generic, to.size()), ssize_t{sizeof message});
    close(fd);
    return true;
  }

  /// One for each forgery: the kernel may remember it for an address.
  const std::string peer_ =
      "127.1." + std::to_string(GetParam().type) + "." + std::to_string(GetParam().code + 1);
  std::uint16_t port_ = 0;
  std::optional<UdpLink> sender_, receiver_;
  PacketMaker maker_;
  Collector refused_;
};

TEST_P(ForgedIcmp, AboutTheLanesSocketStopsNothing) {
  send_and_expect_all();
  if (!forge(port_)) GTEST_SKIP() << "raw sockets are not allowed here";
  send_and_expect_all();
}

TEST_P(ForgedIcmp, AboutASocketOfAFlowStopsNothing) {
  maker_.path.source_port = 0xc123;
  send_and_expect_all();
  if (!forge(0xc123)) GTEST_SKIP() << "raw sockets are not allowed here";
  send_and_expect_all();
}

INSTANTIATE_TEST_SUITE_P(
    Each, ForgedIcmp,
    ::testing::Values(Forgery{"FragmentationNeeded", ICMP_DEST_UNREACH, ICMP_FRAG_NEEDED},
                      Forgery{"PortUnreachable", ICMP_DEST_UNREACH, ICMP_PORT_UNREACH},
                      Forgery{"HostUnreachable", ICMP_DEST_UNREACH, ICMP_HOST_UNREACH},
                      Forgery{"ProtocolUnreachable", ICMP_DEST_UNREACH, ICMP_PROT_UNREACH},
                      Forgery{"Prohibited", ICMP_DEST_UNREACH, ICMP_PKT_FILTERED},
                      Forgery{"SourceQuench", ICMP_SOURCE_QUENCH, 0},
                      Forgery{"TimeExceeded", ICMP_TIME_EXCEEDED, 0},
                      Forgery{"ParameterProblem", ICMP_PARAMETERPROB, 0},
                      Forgery{"Redirect", ICMP_REDIRECT, 1}),
    [](const auto& forgery) { return forgery.param.name; });

}  // namespace
}  // namespace softrnic::link::test
