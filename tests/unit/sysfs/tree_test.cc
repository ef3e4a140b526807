// The table of files: what stands in them is what programs parse, and follows the facts.
#include "sysfs/tree.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace softrnic::sysfs {
namespace {

constexpr const char* kPort = "/sys/class/infiniband/soft0/ports/1/";

Facts one_device() {
  device::DeviceInfo info;
  info.index = 1;
  info.name = "soft0";
  info.netdev = "eth0";
  info.guid = 0x0a1b'2c3d'4e5f'6071;
  info.port.up = true;
  info.port.speed_mbps = 100'000;
  info.port.gids.resize(3);
  info.port.gids[0].gid = wire::Gid::from_ipv4_be(0x0700'000a);  // 10.0.0.7
  return {{info, {}}};
}

std::uint64_t& count(Facts& facts, ib::Counter counter) {
  return facts[0].counters[static_cast<std::size_t>(counter)];
}

std::string text(const Tree& tree, const std::string& path) {
  const Node* const node = find(tree, path);
  return node != nullptr ? node->text : "no such file";
}
std::string port(const Tree& tree, const std::string& name) { return text(tree, kPort + name); }

TEST(Tree, TellsOfADeviceInTheWordsOfTheKernel) {
  const Tree tree = make_tree(one_device());
  const std::string device = "/sys/class/infiniband/soft0/";
  EXPECT_EQ(text(tree, device + "node_type"), "1: CA\n");
  EXPECT_EQ(text(tree, device + "node_guid"), "0a1b:2c3d:4e5f:6071\n");
  EXPECT_EQ(text(tree, device + "sys_image_guid"), "0a1b:2c3d:4e5f:6071\n");
  EXPECT_EQ(text(tree, device + "fw_ver"), "softrnic\n");
  EXPECT_THAT(text(tree, device + "node_desc"), testing::EndsWith("soft0\n"));
  EXPECT_EQ(text(tree, "/sys/class/infiniband_verbs/uverbs1/ibdev"), "soft0\n");
}

TEST(Tree, TellsOfAPortInTheWordsOfTheKernel) {
  const Tree tree = make_tree(one_device());
  EXPECT_EQ(port(tree, "state"), "4: ACTIVE\n");
  EXPECT_EQ(port(tree, "phys_state"), "5: LinkUp\n");
  EXPECT_EQ(port(tree, "rate"), "100 Gb/sec (4X EDR)\n");
  EXPECT_EQ(port(tree, "link_layer"), "Ethernet\n");
  EXPECT_EQ(port(tree, "lid"), "0x7\n");
  EXPECT_EQ(port(tree, "gids/0"), "0000:0000:0000:0000:0000:ffff:0a00:0007\n");
  EXPECT_EQ(port(tree, "gid_attrs/types/0"), "RoCE v2\n");
  EXPECT_EQ(port(tree, "gid_attrs/ndevs/0"), "eth0\n");
  EXPECT_EQ(port(tree, "pkeys/0"), "0xffff\n");
}

TEST(Tree, APortOfInfiniBandIsOfNoNetdev) {
  Facts facts = one_device();
  facts[0].info.kind = device::Kind::infiniband;
  facts[0].info.netdev.clear();
  const Tree tree = make_tree(facts);
  EXPECT_EQ(port(tree, "link_layer"), "InfiniBand\n");
  for (const Node& node : tree) {
    EXPECT_EQ(node.path.find("//"), std::string::npos) << node.path;
    EXPECT_FALSE(node.path.ends_with('/')) << node.path;
    EXPECT_EQ(node.path.find("device/net"), std::string::npos) << node.path;
  }
}

TEST(Tree, TellsWhereManagementDatagramsGo) {
  Facts facts = one_device();
  const Tree tree = make_tree(facts);
  EXPECT_EQ(text(tree, "/sys/class/infiniband_mad/umad1/ibdev"), "soft0\n");
  EXPECT_EQ(text(tree, "/sys/class/infiniband_mad/umad1/port"), "1\n");
  EXPECT_EQ(text(tree, "/sys/class/infiniband_mad/issm1/ibdev"), "soft0\n");
  EXPECT_NE(find(tree, "/dev/infiniband/umad1"), nullptr);
  facts[0].info.kind = device::Kind::iwarp;
  EXPECT_EQ(find(make_tree(facts), "/sys/class/infiniband_mad/umad1/ibdev"), nullptr);
  EXPECT_EQ(find(make_tree(facts), "/dev/infiniband/umad1"), nullptr);
}

TEST(Tree, FollowsThePort) {
  Facts facts = one_device();
  facts[0].info.port.up = false;
  facts[0].info.port.speed_mbps = 2'500;
  const Tree tree = make_tree(facts);
  EXPECT_EQ(port(tree, "state"), "1: DOWN\n");
  EXPECT_EQ(port(tree, "phys_state"), "3: Disabled\n");
  EXPECT_EQ(port(tree, "rate"), "2.5 Gb/sec (1X SDR)\n");
}

TEST(Tree, AnEmptyPlaceHasAGidOfZeroAndNoAttributes) {
  const Tree tree = make_tree(one_device());
  EXPECT_EQ(port(tree, "gids/2"), "0000:0000:0000:0000:0000:0000:0000:0000\n");
  EXPECT_EQ(find(tree, std::string(kPort) + "gid_attrs/types/2"), nullptr);
  EXPECT_EQ(find(tree, std::string(kPort) + "gids/3"), nullptr);
}

TEST(Tree, DataIsCountedInWordsOf32Bits) {
  Facts facts = one_device();
  count(facts, ib::Counter::tx_bytes) = 4096;
  count(facts, ib::Counter::rx_packets) = 7;
  const Tree tree = make_tree(facts);
  EXPECT_EQ(port(tree, "counters/port_xmit_data"), "1024\n");
  EXPECT_EQ(port(tree, "counters/port_rcv_packets"), "7\n");
  EXPECT_EQ(port(tree, "counters/symbol_error"), "0\n");
}

TEST(Tree, HwCountersHaveOurNamesAndThoseOfDrivers) {
  Facts facts = one_device();
  count(facts, ib::Counter::rnr_nak_sent) = 3;
  count(facts, ib::Counter::drop_no_receive) = 4;
  count(facts, ib::Counter::duplicates) = 5;
  const Tree tree = make_tree(facts);
  EXPECT_EQ(port(tree, "hw_counters/rnr_nak_sent"), "3\n");
  EXPECT_EQ(port(tree, "hw_counters/out_of_buffer"), "7\n");
  EXPECT_EQ(port(tree, "hw_counters/duplicate_request"), "5\n");
  EXPECT_EQ(port(tree, "hw_counters/lifespan"), "100\n");
  for (const ib::CounterInfo& counter : ib::kCounterInfos)
    EXPECT_NE(find(tree, std::string(kPort) + "hw_counters/" + counter.name), nullptr) << counter.name;
}

TEST(Tree, HasNoPathTwiceAndNoPlaceholderLeft) {
  Facts facts = one_device();
  facts.push_back(facts[0]);
  facts[1].info.name = "soft1";
  facts[1].info.index = 2;
  std::set<std::string> seen;
  for (const Node& node : make_tree(facts)) {
    EXPECT_TRUE(seen.insert(node.path).second) << node.path;
    EXPECT_EQ(node.path.find_first_of("{}"), std::string::npos) << node.path;
    EXPECT_EQ(node.kind == NodeKind::file, node.text.ends_with('\n')) << node.path;
  }
}

TEST(Tree, ItsShapeIsItsPathsWhateverTheTextsAre) {
  Facts facts = one_device();
  const std::string shape = shape_of(make_tree(facts));
  count(facts, ib::Counter::tx_bytes) = 4096;
  EXPECT_EQ(shape_of(make_tree(facts)), shape);
  facts[0].info.port.gids[1].gid = wire::Gid::from_ipv4_be(0x0800'000a);
  EXPECT_NE(shape_of(make_tree(facts)), shape);
}

// ---- whose counters they are

control::CounterValues values(std::uint64_t tx_packets) {
  control::CounterValues out{};
  out[static_cast<std::size_t>(ib::Counter::tx_packets)] = tx_packets;
  return out;
}

TEST(ShareOut, AQueuePairsFiguresAreItsDevicesAndTheRestIsTheFirsts) {
  Facts facts = one_device();
  facts.push_back(facts[0]);
  facts[1].info.index = 2;
  ProcessCounters process;
  process.counted = values(100);
  process.qps.resize(2);
  process.qps[0].body.device = 1;
  process.qps[0].counters = values(30);
  process.qps[1].body.device = 2;
  process.qps[1].counters = values(45);
  share_out(std::vector{process, process}, facts);
  EXPECT_EQ(facts[0].counters, values(110));
  EXPECT_EQ(facts[1].counters, values(90));
}

TEST(ShareOut, AQueuePairThatIsAheadOfItsLaneTakesNothingBelowZero) {
  Facts facts = one_device();
  ProcessCounters process;
  process.counted = values(1);
  process.qps.resize(1);
  process.qps[0].body.device = 9;
  process.qps[0].counters = values(2);
  share_out(std::vector{process}, facts);
  EXPECT_EQ(facts[0].counters, values(0));
}

}  // namespace
}  // namespace softrnic::sysfs
