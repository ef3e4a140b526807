// Devices and their GIDs as the network changes, links that users add, and messages that make no sense.
#include <sys/socket.h>

#include <algorithm>

#include "base/reason_id.h"
#include "control/channel.h"
#include "tests/daemon/daemon_fixture.h"

namespace softrnic::tests {
namespace {

using control::Change;
using device::DeviceInfo;

std::optional<std::size_t> index_of(const DeviceInfo& device, const std::string& gid) {
  for (std::size_t i = 0; i < device.port.gids.size(); ++i)
    if (device.port.gids[i].gid.to_string() == gid) return i;
  return std::nullopt;
}

class NetworkTest : public DaemonTest {
 protected:
  void SetUp() override {
    DaemonTest::SetUp();
    if (IsSkipped()) return;
    if (!shell("ip link add v0 type veth peer name v1 && ip link set v0 up && ip link set v1 up && "
               "ip addr add 192.0.2.1/24 dev v0"))
      GTEST_SKIP() << "no veth here";
  }

  /// Reads notifications until one fits.
  static std::optional<DeviceInfo> await(control::Client& client,
                                         const std::function<bool(const DeviceInfo&)>& fits) {
    while (auto next = next_notification(client))
      if (next->change == Change::device_changed && fits(next->device)) return next->device;
    return std::nullopt;
  }
};

TEST_F(DaemonTest, LoopbackIsTheDeviceWhenThereIsNothingElse) {
  const auto client = connect();
  const auto devices = client->devices();
  ASSERT_TRUE(devices);
  ASSERT_EQ(devices->size(), 1U);
  const DeviceInfo& device = devices->front();
  EXPECT_EQ(device.name, "soft0");
  EXPECT_EQ(device.netdev, "lo");
  EXPECT_TRUE(device.port.up);
  EXPECT_EQ(device.port.active_mtu, 4096U);
  EXPECT_EQ(index_of(device, "::1"), 0U);
  EXPECT_EQ(index_of(device, "::ffff:127.0.0.1"), 1U);
}

TEST_F(NetworkTest, AddressesComeAndGo) {
  const auto client = connect();
  ASSERT_TRUE(client->take_lane());
  const DeviceInfo device = client->devices()->front();
  ASSERT_EQ(device.netdev, "v0");
  const auto four = index_of(device, "::ffff:192.0.2.1");
  ASSERT_TRUE(four);
  ASSERT_TRUE(shell("ip addr add 2001:db8::7/64 dev v0 nodad"));
  const auto added =
      await(*client, [](const DeviceInfo& d) { return index_of(d, "2001:db8::7").has_value(); });
  ASSERT_TRUE(added);
  EXPECT_EQ(index_of(*added, "::ffff:192.0.2.1"), four);
  const auto six = index_of(*added, "2001:db8::7");
  ASSERT_TRUE(shell("ip addr del 192.0.2.1/24 dev v0"));
  const auto removed = await(*client, [](const DeviceInfo& d) { return !index_of(d, "::ffff:192.0.2.1"); });
  ASSERT_TRUE(removed);
  EXPECT_TRUE(removed->port.gids[*four].gid.is_zero());
  EXPECT_EQ(index_of(*removed, "2001:db8::7"), six);
  ASSERT_TRUE(shell("ip addr add 192.0.2.1/24 dev v0"));
  const auto back =
      await(*client, [](const DeviceInfo& d) { return index_of(d, "::ffff:192.0.2.1").has_value(); });
  ASSERT_TRUE(back);
  EXPECT_EQ(index_of(*back, "::ffff:192.0.2.1"), four);
}

TEST_F(NetworkTest, LinkAndMtu) {
  const auto client = connect();
  ASSERT_TRUE(client->take_lane());
  EXPECT_EQ(client->devices()->front().port.active_mtu, 1024U);
  ASSERT_TRUE(shell("ip link set v0 mtu 9000"));
  EXPECT_TRUE(await(*client, [](const DeviceInfo& d) { return d.port.active_mtu == 4096; }));
  ASSERT_TRUE(shell("ip link set v1 down"));
  EXPECT_TRUE(await(*client, [](const DeviceInfo& d) { return !d.port.up; }));
  ASSERT_TRUE(shell("ip link set v1 up"));
  EXPECT_TRUE(await(*client, [](const DeviceInfo& d) { return d.port.up; }));
  ASSERT_TRUE(shell("ip link delete v0"));
  EXPECT_TRUE(await(*client, [](const DeviceInfo& d) { return !d.port.up && d.port.gids[0].gid.is_zero(); }));
}

TEST_F(NetworkTest, LinksAreAddedAndDeleted) {
  const auto client = connect();
  const auto other = connect();
  ASSERT_TRUE(client->add_link({"soft1", "v1"}));
  auto told = next_notification(*other);
  ASSERT_TRUE(told);
  EXPECT_EQ(told->change, Change::device_added);
  EXPECT_EQ(told->device.name, "soft1");
  EXPECT_EQ(told->device.netdev, "v1");
  EXPECT_EQ(client->devices()->size(), 2U);
  EXPECT_EQ(client->add_link({"soft1", "v1"}).error().failure.reason.id, ReasonId::link_exists);
  EXPECT_EQ(client->add_link({"so/ft", "v1"}).error().failure.reason.id, ReasonId::link_name_bad);
  EXPECT_EQ(client->add_link({std::string(100, 'a'), "v1"}).error().failure.reason.id,
            ReasonId::link_name_bad);
  EXPECT_EQ(client->add_link({"soft2", "v7"}).error().failure.reason.id, ReasonId::no_such_netdev);
  ASSERT_TRUE(other->delete_link("soft1"));
  EXPECT_EQ(other->delete_link("soft1").error().failure.reason.id, ReasonId::no_such_link);
  EXPECT_EQ(client->devices()->size(), 1U);
}

TEST_F(NetworkTest, ASlowReaderMissesNoFinalState) {
  const auto client = connect();
  ASSERT_TRUE(client->take_lane());
  std::string script;
  for (int i = 0; i < 600; ++i) script += "link set v0 mtu " + std::to_string(1500 + i % 2) + "\n";
  ASSERT_TRUE(shell("printf '" + script + "link set v0 mtu 2000\n' | ip -batch -"));
  EXPECT_TRUE(await(*client, [](const DeviceInfo& d) { return d.port.netdev_mtu == 2000; }));
}

/// A connection without the manners of Client.
class RawConnection {
 public:
  RawConnection() : fd_(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0)) {
    const control::AbstractName name = control::daemon_name(geteuid());
    connected_ = ::connect(fd_.get(), name.get(), name.length) == 0;
  }
  bool connected() const { return connected_; }

  std::optional<control::ErrorReply> refused(Bytes message) {
    if (control::send_datagram(fd_.get(), message) != 0) return std::nullopt;
    std::array<std::byte, control::kMaxMessage> buffer;
    control::Datagram datagram;
    if (control::receive_datagram(fd_.get(), buffer, datagram) != 0) return std::nullopt;
    return control::parse_message<control::ErrorReply>(Bytes(buffer).first(datagram.size));
  }
  bool dropped() {
    std::byte scrap;
    control::Datagram datagram;
    return control::receive_datagram(fd_.get(), MutableBytes(&scrap, 1), datagram) != 0 || datagram.size == 0;
  }

 private:
  UniqueFd fd_;
  bool connected_ = false;
};

TEST_F(DaemonTest, NonsenseIsAnsweredAndItsSenderDropped) {
  const auto bystander = connect();
  ASSERT_TRUE(bystander->take_lane());
  auto newer = control::make_message<control::Hello>();
  newer.header.version = control::kProtocolVersion + 1;
  const auto early = control::make_message<control::TakeLane>();
  const std::array<std::byte, 5> noise{};
  const std::vector<std::byte> huge(control::kMaxMessage + 100);
  const Bytes messages[] = {control::bytes_of(newer), control::bytes_of(early), noise, huge};
  for (const Bytes message : messages) {
    RawConnection raw;
    ASSERT_TRUE(raw.connected());
    const auto error = raw.refused(message);
    ASSERT_TRUE(error) << message.size();
    const auto expected =
        message.data() == messages[0].data() ? ReasonId::daemon_version : ReasonId::daemon_bad_message;
    EXPECT_EQ(error->reason, static_cast<std::uint32_t>(expected));
    EXPECT_TRUE(raw.dropped());
  }
  const auto status = bystander->status();
  ASSERT_TRUE(status);
  EXPECT_EQ(status->bad_messages, 4U);
  EXPECT_EQ(status->lanes_used, 1U);
  EXPECT_EQ(status->clients, 1U);
}

TEST_F(DaemonTest, APageMustBeASealedMemfd) {
  const auto client = connect();
  EXPECT_EQ(client->register_page(0).error().failure.reason.id, ReasonId::page_bad);
  EXPECT_EQ(client->register_page(-1).error().failure.reason.id, ReasonId::page_bad);
  EXPECT_TRUE(client->devices()) << "an honest mistake does not cost the connection";
}

}  // namespace
}  // namespace softrnic::tests
