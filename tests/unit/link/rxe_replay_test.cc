// The packets of the Linux kernel's soft RoCE driver as they were on the wire, identifications included, sent
// to a lane's socket: none is lost, neither the first of a source nor one behind a jump of the count.
#include <gtest/gtest.h>
#include <netinet/ip.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <optional>

#include "base/reason_id.h"
#include "link/udp_link.h"
#include "tests/support/pcap_reader.h"
#include "tests/unit/link/link_fixture.h"
#include "wire/frame.h"

namespace softrnic::link::test {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

TimePoint monotonic_now() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return TimePoint(std::chrono::seconds(now.tv_sec) + Duration(now.tv_nsec));
}

std::vector<fs::path> captures() {
  std::vector<fs::path> paths;
  for (const auto& entry : fs::directory_iterator(SOFTRNIC_GOLDEN_DIR)) {
    const std::string name = entry.path().filename();
    if (name.ends_with(".pcap") && !name.starts_with("siw-") && !name.ends_with("-v6.pcap"))
      paths.push_back(entry.path());
  }
  return paths;
}

/// An IPv4 packet of a capture, from its IP header on.
struct Datagram {
  wire::FrameHeaders headers;
  std::vector<std::byte> bytes;
};

std::vector<Datagram> roce_packets(const fs::path& path) {
  std::vector<Datagram> out;
  const auto file = softrnic::testing::read_pcap(path);
  if (!file) return out;
  for (const auto& bytes : file->packets) {
    const auto frame = wire::parse_frame(bytes);
    if (!frame || frame->headers.flow.destination_port != wire::kRoceUdpPort) continue;
    const auto* const ip = frame->udp_payload.data() - wire::kUdpBytes - wire::kIpv4Bytes;
    out.push_back({frame->headers, {ip, frame->udp_payload.data() + frame->udp_payload.size()}});
  }
  return out;
}

/// A lane, and a raw socket that sends whole IP packets to it.
class RxeReplay : public ::testing::TestWithParam<fs::path> {
 protected:
  void SetUp() override {
    raw_ = socket(AF_INET, SOCK_RAW | SOCK_CLOEXEC, IPPROTO_RAW);
    const bool here = std::system("ip route replace local 10.77.0.0/24 dev lo 2>/dev/null") == 0;
    if (raw_ < 0 || !here) GTEST_SKIP() << "raw sockets or addresses are not allowed here";
    open_lane();
  }
  ~RxeReplay() override {
    if (raw_ >= 0) close(raw_);
  }

  void open_lane() {
    lane_.reset();
    std::uint16_t port = 0;
    const int fd = bound_socket("::", wire::kRoceUdpPort, port);
    ASSERT_GE(fd, 0);
    lane_.emplace(UdpLink::Options{.fd = fd});
  }

  /// Sends the packet and reads it, with the lane's clock some time behind: it may have waited for so long.
  void pass(const Datagram& packet, Duration waited = Duration::zero()) {
    SocketAddress to{};
    to.inet.sin_family = AF_INET;
    to.inet.sin_addr.s_addr = packet.headers.flow.destination.ipv4_be();
    ASSERT_EQ(sendto(raw_, packet.bytes.data(), packet.bytes.size(), 0, &to.generic, to.size()),
              static_cast<ssize_t>(packet.bytes.size()));
    const std::size_t before = got_.count();
    while (got_.count() == before) {
      if (lane_->receive(got_, monotonic_now() - waited) != 0) continue;
      pollfd entry{lane_->readable_fd(), POLLIN, 0};
      ASSERT_EQ(poll(&entry, 1, 1000), 1);
    }
    // and finds the socket empty, as a lane does that waits
    static_cast<void>(lane_->receive(got_, monotonic_now() - waited));
  }

  int raw_ = -1;
  std::optional<UdpLink> lane_;
  Collector got_;
};

TEST_P(RxeReplay, NoPacketIsLost) {
  const auto packets = roce_packets(GetParam());
  ASSERT_FALSE(packets.empty());
  for (const Datagram& packet : packets) ASSERT_NO_FATAL_FAILURE(pass(packet));
  EXPECT_EQ(got_.packets.size(), packets.size());
  EXPECT_TRUE(got_.drops.empty()) << describe(got_.drops.front().first);
}

TEST_P(RxeReplay, APeerThatHasBeenQuietGoesOnElsewhere) {
  const auto packets = roce_packets(GetParam());
  for (const Datagram& packet : packets) ASSERT_NO_FATAL_FAILURE(pass(packet, 1s));
  // Those of another capture: the same hosts, whose counts are thousands ahead.
  const auto later = roce_packets(fs::path(SOFTRNIC_GOLDEN_DIR) / "rxe-udaddy.pcap");
  for (const Datagram& packet : later) ASSERT_NO_FATAL_FAILURE(pass(packet));
  EXPECT_EQ(got_.packets.size(), packets.size() + later.size());
}

// What a lane has learned of a peer dies with its process.
TEST_P(RxeReplay, EveryProcessReceivesItsFirstPacket) {
  const auto packets = roce_packets(GetParam());
  const std::size_t count = std::min<std::size_t>(packets.size(), 20);
  for (std::size_t i = 0; i < count; ++i) {
    open_lane();
    ASSERT_NO_FATAL_FAILURE(pass(packets[i]));
  }
  EXPECT_EQ(got_.packets.size(), count);
}

// Damage that some identification would explain, of a peer whose identifications are known.
TEST_P(RxeReplay, APeerThatIsHeardIsHeldToItsCount) {
  constexpr Duration kAhead = -1h;  // to a lane whose clock is ahead nobody is ever silent
  const auto packets = roce_packets(GetParam());
  if (packets.size() < 20) GTEST_SKIP() << "too short to be known";
  for (std::size_t i = 0; i < 10; ++i) ASSERT_NO_FATAL_FAILURE(pass(packets[i], kAhead));
  Datagram damaged = packets[9];
  Bytes payload = Bytes(damaged.bytes).subspan(wire::kIpv4Bytes + wire::kUdpBytes);
  wire::Icrc icrc(damaged.headers.flow, payload.size(), damaged.headers.ip_id ^ 0x8000);
  icrc.add_headers(payload.first(payload.size() - wire::kIcrcBytes));
  const std::uint32_t value = icrc.value();
  std::memcpy(damaged.bytes.data() + damaged.bytes.size() - wire::kIcrcBytes, &value, sizeof value);
  ASSERT_NO_FATAL_FAILURE(pass(damaged, kAhead));
  ASSERT_EQ(got_.drops.size(), 1U);
  EXPECT_EQ(got_.drops[0].first.id, ReasonId::drop_unbelieved_id);
  EXPECT_EQ(got_.drops[0].first.figures[1], damaged.headers.ip_id ^ 0x8000U);
  damaged.bytes.back() ^= std::byte{1};
  ASSERT_NO_FATAL_FAILURE(pass(damaged, kAhead));
  ASSERT_EQ(got_.drops.size(), 2U);
  EXPECT_EQ(got_.drops[1].first.id, ReasonId::drop_bad_icrc);
}

INSTANTIATE_TEST_SUITE_P(Captures, RxeReplay, ::testing::ValuesIn(captures()),
                         [](const auto& capture) { return testing::capture_test_name(capture.param); });

}  // namespace
}  // namespace softrnic::link::test
