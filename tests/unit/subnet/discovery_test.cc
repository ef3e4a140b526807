#include "subnet/discovery.h"

#include <gtest/gtest.h>

#include "simulated_subnet.h"

namespace softrnic::subnet {
namespace {

using namespace testing;

/// What a sweep from host 0 finds.
struct Sweep : DatagramPort {
  explicit Sweep(DiscoveryOptions options = {})
      : requests(*this, {16, milliseconds(10), 1}), discovery(requests, log, options) {}
  void send(const DatagramAddress&, const mad::Mad& mad) override {
    sent.push_back(mad::decode<mad::Smp>(mad));
  }
  /// Answers each request by `answer(smp)`, until the sweep is done.
  template <typename Answer>
  Subnet run(Answer&& answer) {
    discovery.start(nullptr, false);
    for (TimePoint now{}; !discovery.is_done(); now += milliseconds(1)) {
      requests.advance(now);
      for (mad::Smp smp : std::exchange(sent, {})) {
        ++asked;
        smp.method = mad::Method::get_response;
        smp.returning = true;
        if (answer(smp)) requests.receive(smp);
      }
    }
    return discovery.finish();
  }
  std::vector<mad::Smp> sent;
  EventLog log;
  SmpRequests requests;
  Discovery discovery;
  std::size_t asked = 0;
};

/// Every port of every node leads to another switch with as many ports as there can be.
struct EndlessNodes {
  bool operator()(mad::Smp& smp) {
    if (smp.attribute == mad::NodeInfo::kAttribute) {
      mad::NodeInfo info;
      info.node_type = mad::NodeType::switch_node;
      info.num_ports = 254;
      info.node_guid = info.port_guid = mad::Guid(++guid);
      info.partition_cap = 0xffff;
      info.local_port_num = 1;
      mad::encode(info, smp.data);
    } else if (smp.attribute == mad::PortInfo::kAttribute) {
      mad::PortInfo info;
      info.port_state = mad::PortState::active;
      info.guid_cap = 255;
      mad::encode(info, smp.data);
    }
    return true;
  }
  std::uint64_t guid = 0;
};

TEST(Discovery, EndsAtItsLimitAmongEndlessNodes) {
  DiscoveryOptions options;
  options.most_nodes = 20;
  Sweep sweep(options);
  const Subnet found = sweep.run(EndlessNodes{});
  EXPECT_EQ(found.nodes().size(), 20U);
  EXPECT_EQ(sweep.log.count<event::SweepLimit>(), 1U);
  EXPECT_LT(sweep.asked, 20U * 254U * 3U);
}

TEST(Discovery, EndsAtItsLimitOfPorts) {
  DiscoveryOptions options;
  options.most_ports = 1000;
  Sweep sweep(options);
  EXPECT_EQ(sweep.run(EndlessNodes{}).nodes().size(), 3U);
}

TEST(Discovery, TakesNoNodeThatCannotBe) {
  const auto refuses = [](auto change) {
    Sweep sweep;
    const Subnet found = sweep.run([&](mad::Smp& smp) {
      mad::NodeInfo info;
      info.node_type = mad::NodeType::channel_adapter;
      info.num_ports = 2;
      info.local_port_num = 1;
      info.node_guid = info.port_guid = mad::Guid(1);
      change(info);
      mad::encode(info, smp.data);
      return true;
    });
    return found.nodes().empty() && sweep.log.count<event::BadAnswer>() == 1;
  };
  EXPECT_FALSE(refuses([](mad::NodeInfo&) {}));
  EXPECT_TRUE(refuses([](mad::NodeInfo& i) { i.node_type = mad::NodeType{0}; }));
  EXPECT_TRUE(refuses([](mad::NodeInfo& i) { i.node_type = mad::NodeType{4}; }));
  EXPECT_TRUE(refuses([](mad::NodeInfo& i) { i.num_ports = 0; }));
  EXPECT_TRUE(refuses([](mad::NodeInfo& i) { i.num_ports = 255; }));
  EXPECT_TRUE(refuses([](mad::NodeInfo& i) { i.local_port_num = 0; }));
  EXPECT_TRUE(refuses([](mad::NodeInfo& i) { i.local_port_num = 3; }));
  EXPECT_TRUE(refuses([](mad::NodeInfo& i) { i.node_guid = {}; }));
  EXPECT_TRUE(refuses([](mad::NodeInfo& i) { i.port_guid = {}; }));
}

TEST(Discovery, DoesNotSurviveSilenceOfItsOwnPortButEnds) {
  Sweep sweep;
  const Subnet found = sweep.run([](mad::Smp&) { return false; });
  EXPECT_TRUE(found.nodes().empty());
  EXPECT_FALSE(found.all_answered);
  EXPECT_EQ(found.self.node, kNoNode);
}

TEST(Discovery, ReportsTwoHostsOfOneGuid) {
  SimTree subnet(2, 1, 2);
  subnet.nodes[3].info.node_guid = subnet.nodes[1].info.node_guid;
  Manager& manager = subnet.add_manager({0, 1});
  ASSERT_TRUE(subnet.run_until_up(manager));
  const auto* duplicate = subnet.log({0, 1}).last<event::DuplicateGuid>();
  ASSERT_NE(duplicate, nullptr);
  EXPECT_EQ(duplicate->guid.value, subnet.nodes[1].guid());
  EXPECT_NE(duplicate->seen_from, duplicate->seen_from_too);
  EXPECT_TRUE(subnet.reaches({2, 1}, {0, 1}));
}

TEST(Discovery, ReportsTwoSwitchesOfOneGuid) {
  SimTree subnet(3, 2, 1);
  const auto twin = static_cast<std::size_t>(subnet.spines[1]);
  subnet.nodes[twin].info.node_guid = subnet.nodes[static_cast<std::size_t>(subnet.spines[0])].info.node_guid;
  Manager& manager = subnet.add_manager({0, 1});
  ASSERT_TRUE(subnet.run_until_up(manager));
  EXPECT_GE(subnet.log({0, 1}).count<event::DuplicateGuid>(), 1U);
}

TEST(Discovery, PassesALoopbackPlugAndAParallelCable) {
  SimTree subnet(2, 1, 1);
  const SimPlace plug{subnet.leaves[0], 30};
  subnet.at(plug).peer = plug;
  subnet.set_link(plug, true);
  subnet.cable(subnet.leaves[0], subnet.leaves[1]);
  subnet.cable(subnet.leaves[0], subnet.leaves[1]);
  Manager& manager = subnet.add_manager({0, 1});
  ASSERT_TRUE(subnet.run_until_up(manager));
  EXPECT_EQ(subnet.log({0, 1}).count<event::DuplicateGuid>(), 0U);
  EXPECT_EQ(subnet.log({0, 1}).count<event::LinkAppeared>(), 6U);
  subnet.expect_all_reach();
}

TEST(Discovery, ReachesAHostByBothOfItsPorts) {
  SimTree subnet(2, 1, 1);
  const int host = subnet.add_host(0, 2);
  subnet.cable({subnet.leaves[0], 20}, {host, 1});
  subnet.cable({subnet.leaves[1], 20}, {host, 2});
  Manager& manager = subnet.add_manager({0, 1});
  ASSERT_TRUE(subnet.run_until_up(manager));
  subnet.expect_all_active();
  subnet.expect_all_reach();
  EXPECT_NE(subnet.lid_of({host, 1}), subnet.lid_of({host, 2}));
}

TEST(Discovery, LivesWithAnyAnswer) {
  for (unsigned seed = 1; seed <= 40; ++seed) {
    SimTree subnet(3, 2, 2, seed);
    std::mt19937 random(seed);
    subnet.tamper = [&](SimPlace place, mad::Smp& smp) {
      if (place.node != 3 && place.node != subnet.spines[1] && random() % 20 != 0) return;
      const auto at = random() % smp.data.size();
      for (std::size_t i = at; i < smp.data.size() && random() % 4 != 0; ++i)
        smp.data[i] = static_cast<std::byte>(random());
    };
    Manager& manager = subnet.add_manager({0, 1});
    subnet.run(seconds(20));
    EXPECT_LT(subnet.steps, 2000000U);
    subnet.tamper = nullptr;
    manager.request_sweep();
    subnet.run(seconds(60));
    EXPECT_TRUE(manager.is_up()) << subnet.log({0, 1}).text();
  }
}

}  // namespace
}  // namespace softrnic::subnet
