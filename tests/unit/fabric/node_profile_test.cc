#include "fabric/node_profile.h"

#include <gtest/gtest.h>

namespace softrnic::fabric {
namespace {

TEST(NodeProfiles, AreOfTheTopologysNodes) {
  Node node = make_node(NodeType::switch_node, "leaf", 2, Guid(0x100), {LinkWidth::x4, LinkSpeed::edr});
  node.vendor_id = 0x2c9;
  node.device_id = 7;
  node.enhanced_port0 = true;
  NodeProfile profile = profile_of(node);
  EXPECT_EQ(profile.description, "leaf");
  EXPECT_EQ(profile.guid, mad::Guid(0x100));
  EXPECT_EQ(profile.vendor_id, 0x2c9U);
  EXPECT_EQ(profile.device_id, 7);
  EXPECT_TRUE(profile.enhanced_port0);
  ASSERT_EQ(profile.ports.size(), 3U);
  EXPECT_EQ(profile.ports[0].guid, mad::Guid(node.ports[0].guid.value));
  node.description = "leaf of room 3";
  EXPECT_EQ(profile_of(node).description, "leaf of room 3");
}

TEST(NodeProfiles, PortsDoAllBelowTheirRate) {
  const auto port_of = [](LinkRate rate) {
    return profile_of(make_node(NodeType::channel_adapter, "h", 1, Guid(1), rate)).ports[1];
  };
  const PortProfile slow = port_of({LinkWidth::x1, LinkSpeed::sdr});
  EXPECT_EQ(slow.link_widths, 1);
  EXPECT_EQ(slow.link_speeds, 1);
  EXPECT_EQ(slow.extended_link_speeds, 0);
  const PortProfile fast = port_of({LinkWidth::x4, LinkSpeed::edr});
  EXPECT_EQ(fast.link_widths, 1 | 2 | 16) << "1X, 2X and 4X";
  EXPECT_EQ(fast.link_speeds, 7);
  EXPECT_EQ(fast.extended_link_speeds, 3);
}

}  // namespace
}  // namespace softrnic::fabric
