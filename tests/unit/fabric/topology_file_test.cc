#include "fabric/topology_file.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "fabric/ibnetdiscover_format.h"
#include "fabric/ibsim_format.h"
#include "fabric/topology_shapes.h"

namespace softrnic::fabric {
namespace {

std::string topology_trouble(std::string_view text) {
  const auto topology = read_topology(text);
  return topology ? "" : to_string(topology.error());
}

TEST(TopologyFile, RecognisesTheFormatByTheFirstNode) {
  EXPECT_EQ(*recognise_format("# any\n\nvendid=0x2c9\nSwitch\t36 \"S-0002c903000a1b2c\"\t\t# \"x\""),
            TopologyFormat::ibnetdiscover);
  EXPECT_EQ(*recognise_format("Ca 1 \"H-0002C903000A1B2C\"\n"), TopologyFormat::ibnetdiscover);
  EXPECT_EQ(*recognise_format("Rt 1 \"R-0002c903000a1b2c\"\n"), TopologyFormat::ibnetdiscover);
  for (const char* ibsim : {"Switch 8 \"leaf1\"", "Hca 2 \"S-1\"\n", "Switch 8 \"X-0002c903000a1b2c\"",
                            "Switch 8 \"S-0002c903000a1b2g\"", "Switch 8 \"S-0002c903000a1b2cd\"", "Switch"})
    EXPECT_EQ(*recognise_format(ibsim), TopologyFormat::ibsim) << ibsim;
}

TEST(TopologyFile, SaysThatThereIsNothingInIt) {
  EXPECT_NE(topology_trouble("").find("no node is described"), std::string::npos);
  EXPECT_NE(topology_trouble("hello\n\nworld").find("no node is described"), std::string::npos);
  EXPECT_NE(topology_trouble("\nSwitch\t : 0x0002c903000a1b2c ports 36 devid 0x1 vendid 0x2 \"x\"\n")
                .find("line 2: this is a list"),
            std::string::npos);
}

TEST(TopologyFile, ReadsBothFormats) {
  const Topology shape = *make_topology("fat-tree:k=4");
  const auto as_ibsim = read_topology(write_ibsim(shape));
  const auto discovered = read_topology(write_ibnetdiscover(shape, {}, {*shape.find("host1"), 1}, "now"));
  ASSERT_TRUE(as_ibsim.has_value()) << to_string(as_ibsim.error());
  ASSERT_TRUE(discovered.has_value()) << to_string(discovered.error());
  EXPECT_EQ(as_ibsim->cables().size(), 48U);
  EXPECT_EQ(discovered->cables().size(), 48U);
}

// Every prefix of a text, and the text with any one byte changed, is read or refused, with the line.
TEST(TopologyFile, TakesOrRefusesWhateverItGets) {
  const Topology shape = *make_topology("fat-tree:speed=NDR");
  const std::string texts[] = {write_ibsim(shape),
                               write_ibnetdiscover(shape, {}, {*shape.find("host1"), 1}, "now")};
  for (const std::string& text : texts) {
    const auto lines = static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
    const auto check = [&](const std::string& changed) {
      const auto topology = read_topology(changed);
      if (!topology) {
        EXPECT_FALSE(topology.error().what.empty());
        EXPECT_LE(topology.error().line, lines + 1);
      }
    };
    for (std::size_t length = 0; length < text.size(); ++length) check(text.substr(0, length));
    for (std::size_t at = 0; at < text.size(); ++at) {
      for (const char byte : {'\0', '\n', '"', '#', '9', '[', ']', '(', ' ', '=', '\xff'}) {
        std::string changed = text;
        changed[at] = byte;
        check(changed);
      }
    }
  }
}

// 15 bytes of text ask for 254 ports.
TEST(TopologyFile, RefusesMorePortsThanAFabricHas) {
  std::string text;
  for (int number = 0; number < 5000; ++number) text += "Switch 254 \"s" + std::to_string(number) + "\"\n\n";
  EXPECT_NE(topology_trouble(text).find("line 8257: switch \"s4128\" is one too many"), std::string::npos)
      << topology_trouble(text);
}

TEST(TopologyFile, RefusesMoreNodesThanASubnetHasLids) {
  std::string text;
  for (int number = 0; number < 50'000; ++number) text += "Ca 1 \"h" + std::to_string(number) + "\"\n";
  EXPECT_NE(topology_trouble(text).find("line 49152: channel adapter \"h49151\" is one too many"),
            std::string::npos)
      << topology_trouble(text);
}

}  // namespace
}  // namespace softrnic::fabric
