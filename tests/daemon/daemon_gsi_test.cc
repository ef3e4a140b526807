// QP1 of a daemon that runs: what it hears, what it shows of itself, and whose environment it heeds.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <optional>

#include "base/reason_id.h"
#include "control/page_reader.h"
#include "control/spawn.h"
#include "mad/address.h"
#include "mad/mad.h"
#include "tests/daemon/daemon_fixture.h"
#include "wire/headers.h"
#include "wire/icrc.h"

namespace softrnic::tests {
namespace {

/// Sends a datagram from 127.0.0.1 to QP1 of the same address, with a right ICRC.
bool send_to_qp1(std::uint32_t qkey) {
  const UniqueFd fd(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  sockaddr_in own{};
  own.sin_family = AF_INET;
  own.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof own;
  const int discover = IP_PMTUDISC_DO;  // the identification is 0 then
  if (bind(fd.get(), reinterpret_cast<sockaddr*>(&own), sizeof own) != 0 ||
      getsockname(fd.get(), reinterpret_cast<sockaddr*>(&own), &length) != 0 ||
      setsockopt(fd.get(), SOL_IP, IP_MTU_DISCOVER, &discover, sizeof discover) != 0)
    return false;
  wire::Headers headers;
  headers.bth.opcode = wire::Opcode::ud_send_only;
  headers.bth.destination = mad::kGsiQpn;
  headers.deth.qkey = qkey;
  headers.deth.source = mad::kGsiQpn;
  std::array<std::byte, wire::kMaxHeaderBytes + mad::kMadBytes + wire::kIcrcBytes> packet{};
  const std::size_t covered = wire::encode(headers, packet) + mad::kMadBytes;
  wire::Flow flow;
  flow.source = flow.destination = wire::Gid::from_ipv4_be(own.sin_addr.s_addr);
  flow.source_port = ntohs(own.sin_port);
  wire::Icrc icrc(flow, covered + wire::kIcrcBytes, 0);
  icrc.add_headers(Bytes(packet).first(covered));
  const std::uint32_t value = icrc.value();
  std::memcpy(packet.data() + covered, &value, sizeof value);
  sockaddr_in to = own;
  to.sin_port = htons(wire::kRoceUdpPort);
  const std::size_t size = covered + wire::kIcrcBytes;
  return sendto(fd.get(), packet.data(), size, 0, reinterpret_cast<sockaddr*>(&to), sizeof to) ==
         static_cast<ssize_t>(size);
}

std::optional<control::PageReader> daemon_page(control::Client& client) {
  const auto pages = client.pages();
  if (!pages) return std::nullopt;
  for (const control::PageFd& page : *pages) {
    if (page.comm != "softrnicd" || page.pid != client.daemon_pid()) continue;
    auto reader = control::PageReader::open(page.fd.get());
    if (reader) return std::move(*reader);
  }
  return std::nullopt;
}

TEST_F(DaemonTest, ADatagramThatIsNoMadIsCountedAndExplained) {
  const auto client = connect();
  auto page = daemon_page(*client);
  ASSERT_TRUE(page);
  const auto counter = [&](ib::Counter which) {
    return page->lanes().at(0).counters[static_cast<std::size_t>(which)];
  };
  ASSERT_TRUE(send_to_qp1(mad::kGsiQkey));
  ASSERT_TRUE(send_to_qp1(0x11));
  // the daemon has one thread, and looks at all that waits before it sleeps again
  ASSERT_TRUE(wait_status(*client, [&](const auto&) { return counter(ib::Counter::rx_packets) == 2; }));
  EXPECT_EQ(counter(ib::Counter::drop_qkey), 1U);
  // the other one says nothing that a connection manager understands, and that is told, too
  const auto told = page->explanations();
  ASSERT_EQ(told.size(), 2U);
  EXPECT_EQ(told[1].reason.id, ReasonId::mad_wrong_qkey);
  EXPECT_EQ(told[1].qpn, mad::kGsiQpn.value);
}

TEST_F(DaemonTest, ReceiveBuffersKeepTheirSize) {
  const auto client = connect();
  const auto lane = client->take_lane();
  ASSERT_TRUE(lane);
  std::uint32_t bytes = 0;
  socklen_t length = sizeof bytes;
  ASSERT_EQ(getsockopt(lane->socket.get(), SOL_SOCKET, SO_RCVBUF, &bytes, &length), 0);
  EXPECT_EQ(client->status()->receive_buffer, bytes) << "lane 0 has what every lane is made with";
}

/// Variables for the processes that are started meanwhile.
class Environment {
 public:
  explicit Environment(const char* name, const std::string& value) : name_(name) {
    setenv(name, value.c_str(), 1);
  }
  ~Environment() { unsetenv(name_); }

 private:
  const char* name_;
};

TEST_F(DaemonTest, ThatAProgramStartedIgnoresThatProgramsFaultsAndCapture) {
  const std::filesystem::path capture =
      std::filesystem::temp_directory_path() / ("softrnicd-" + std::to_string(getpid()) + ".pcapng");
  const Environment faults("SOFTRNIC_FAULTS", "nonsense");
  const Environment capturing("SOFTRNIC_CAPTURE", capture);
  const auto client = connect();
  ASSERT_NE(client, nullptr);
  EXPECT_FALSE(std::filesystem::exists(capture));
}

TEST_F(DaemonTest, InTheForegroundHeedsItsOwnEnvironment) {
  const std::string program = "timeout 20 '" + control::find_daemon() + "' --idle 1 2>/dev/null";
  EXPECT_FALSE(shell("SOFTRNIC_FAULTS=nonsense " + program));
  const std::filesystem::path capture =
      std::filesystem::temp_directory_path() / ("softrnicd-" + std::to_string(getpid()) + ".pcapng");
  EXPECT_TRUE(shell("SOFTRNIC_CAPTURE=" + capture.string() + " " + program));
  EXPECT_TRUE(std::filesystem::remove(capture));
}

}  // namespace
}  // namespace softrnic::tests
