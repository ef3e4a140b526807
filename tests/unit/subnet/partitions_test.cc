#include "subnet/partitions.h"

#include <gtest/gtest.h>

#include "subnet/partitions_conf.h"
#include "subnet/pkey_tables.h"

namespace softrnic::subnet {
namespace {

using Fault = PartitionsConfFault;

std::vector<Partition> parse(std::string_view text) {
  const auto parsed = parse_partitions_conf(text);
  if (!parsed) {
    ADD_FAILURE() << "line " << parsed.error().line << ": " << name_of(parsed.error().fault);
    return {};
  }
  return *parsed;
}

PartitionsConfError error_of(std::string_view text) {
  const auto parsed = parse_partitions_conf(text);
  EXPECT_FALSE(parsed.has_value()) << text;
  return parsed ? PartitionsConfError{} : parsed.error();
}

PartitionRule rule(PortChoice choice, Membership membership) { return {choice, Guid{}, membership}; }
PartitionRule rule(std::uint64_t guid, Membership membership) {
  return {PortChoice::guid, Guid(guid), membership};
}

// The examples of opensm's doc/partition-config.txt.
constexpr std::string_view kExamples = R"(
 Default=0x7fff : ALL, ALL_SWITCHES=full, SELF=full ;

 NewPartition , ipoib : 0x123456=full, 0x3456789034=limi, 0x2134af2306 ;

 YetAnotherOne = 0x300 : SELF=full ;
 YetAnotherOne = 0x300 : ALL=limited ;

 ShareIO = 0x80 , defmember=full : 0x123451, 0x123452;
 # 0x123453, 0x123454 will be limited
 ShareIO = 0x80 : 0x123453, 0x123454, 0x123455=full;
 # 0x123456, 0x123457 will be limited
 ShareIO = 0x80 , defmember=limited : 0x123456, 0x123457, 0x123458=full;
 ShareIO = 0x80 , defmember=full : 0x123459, 0x12345a;
 ShareIO = 0x80 , defmember=full : 0x12345b, 0x12345c=limited, 0x12345d;

 # multicast groups added to default
 Default=0x7fff,ipoib:
        mgid=ff12:401b::0707,sl=1 # random IPv4 group
        mgid=ff12:601b::16    # MLDv2-capable routers
        mgid=ff12:401b::16    # IGMP
        mgid=ff12:601b::2     # All routers
        mgid=ff12::1,sl=1,Q_Key=0xDEADBEEF,rate=3,mtu=2 # random group
        ALL=full;
)";

TEST(PartitionsConf, ReadsTheExamplesOfOpensm) {
  const auto partitions = parse(kExamples);
  ASSERT_EQ(partitions.size(), 4U);
  EXPECT_EQ(partitions[0].number, kDefaultPartition);
  EXPECT_TRUE(partitions[0].ipoib);
  EXPECT_EQ(partitions[0].rules,
            (std::vector<PartitionRule>{
                rule(PortChoice::all, Membership::limited), rule(PortChoice::self, Membership::full),
                rule(PortChoice::all, Membership::limited), rule(PortChoice::all_switches, Membership::full),
                rule(PortChoice::self, Membership::full), rule(PortChoice::all, Membership::full)}));
  ASSERT_EQ(partitions[0].groups.size(), 5U);
  EXPECT_EQ(partitions[0].groups[0].flags.sl, 1);
  EXPECT_EQ(partitions[0].groups[1].flags.sl, 0);
  EXPECT_EQ(partitions[0].groups[4].flags.qkey, 0xdeadbeefU);
  EXPECT_EQ(partitions[0].groups[4].flags.mtu, 2);

  EXPECT_EQ(partitions[1].name, "NewPartition");
  EXPECT_EQ(partitions[1].number, 1);
  EXPECT_EQ(partitions[1].rules, (std::vector<PartitionRule>{rule(0x123456, Membership::full),
                                                             rule(0x3456789034, Membership::limited),
                                                             rule(0x2134af2306, Membership::limited)}));
  EXPECT_EQ(partitions[2].number, 0x300);
  EXPECT_EQ(partitions[3].number, 0x80);
  std::vector<Membership> shared;
  for (const PartitionRule& each : partitions[3].rules) shared.push_back(each.membership);
  using enum Membership;
  EXPECT_EQ(shared, (std::vector<Membership>{full, full, limited, limited, full, limited, limited, full, full,
                                             full, full, limited, full}));
}

TEST(PartitionsConf, AlwaysHasTheDefaultPartition) {
  for (const std::string_view text : {"", "\n\n", "# nothing", "#a:b;\n  \t\r\n"}) {
    const auto partitions = parse(text);
    ASSERT_EQ(partitions.size(), 1U);
    EXPECT_EQ(partitions[0].name, "Default");
    EXPECT_EQ(partitions[0].rules.size(), 2U);
  }
}

TEST(PartitionsConf, NumbersPartitionsWithoutPkey) {
  const auto partitions = parse("A=2:ALL;B:ALL;C:;B:SELF=both;D=0x8000:ALL;0x8009,indx0:ALL;:SELF;");
  ASSERT_EQ(partitions.size(), 7U);
  EXPECT_EQ(partitions[2].number, 1);  // B
  EXPECT_EQ(partitions[2].rules.size(), 2U);
  EXPECT_EQ(partitions[3].number, 3);  // C, as 2 is A's
  EXPECT_EQ(partitions[4].number, 4) << "0x8000 is no number of a partition";
  EXPECT_EQ(partitions[5].number, 9);
  EXPECT_EQ(partitions[5].name, "");
  EXPECT_TRUE(partitions[5].index0);
  EXPECT_EQ(partitions[6].number, 5);
}

TEST(PartitionsConf, SpreadsOverLines) {
  const auto partitions =
      parse("X = 0x10 , ipoib , mtu = 5 , scope=5,scope=2 :\n 0x1 ,\n 0x2 = full\n\n, NONE ;Y=3:4;");
  ASSERT_EQ(partitions.size(), 3U);
  EXPECT_EQ(partitions[1].flags.mtu, 5);
  EXPECT_EQ(partitions[1].flags.scopes, 0x24);
  EXPECT_EQ(partitions[1].rules,
            (std::vector<PartitionRule>{rule(1, Membership::limited), rule(2, Membership::full)}));
  EXPECT_EQ(partitions[2].rules, std::vector<PartitionRule>{rule(4, Membership::limited)});
}

TEST(PartitionsConf, TellsLineAndFault) {
  const std::vector<std::tuple<std::string_view, std::size_t, Fault>> cases = {
      {"\nA=1 ALL;", 2, Fault::no_definition},
      {"A=1,ipoib\n:ALL;", 1, Fault::no_definition},
      {"A=0x10000:ALL;", 1, Fault::bad_pkey},
      {"A=0x:ALL;", 1, Fault::bad_pkey},
      {"A=12x:ALL;", 1, Fault::bad_pkey},
      {"A=-1:ALL;", 1, Fault::bad_pkey},
      {"A=1,iopib:ALL;", 1, Fault::unknown_flag},
      {"A=1,,ipoib:ALL;", 1, Fault::unknown_flag},
      {"A=1,sl=16:ALL;", 1, Fault::bad_flag_value},
      {"A=1,sl:ALL;", 1, Fault::bad_flag_value},
      {"A=1,mtu=0:ALL;", 1, Fault::bad_flag_value},
      {"A=1,Q_Key=0x100000000:ALL;", 1, Fault::bad_flag_value},
      {"A=1,defmember=none:ALL;", 1, Fault::bad_membership},
      {"A=1,defmember:ALL;", 1, Fault::bad_membership},
      {"A=1:ALL=ful1;", 1, Fault::bad_membership},
      {"A=1:ALL=;", 1, Fault::bad_membership},
      {"A=1:\n0x1,\nHOSTS;", 3, Fault::bad_port},
      {"A=1:0;", 1, Fault::bad_port},
      {"A=1:0x10000000000000000;", 1, Fault::bad_port},
      {"A=1:\nmgid=fe80::1\n;", 2, Fault::bad_mgid},
      {"A=1:\nmgid\n;", 2, Fault::bad_mgid},
      {"A=1:\nmgid=ff12::1,hop=3\n;", 2, Fault::unknown_flag},
      {"A=1:ALL\n\n", 2, Fault::no_end},
  };
  for (const auto& [text, line, fault] : cases) {
    const PartitionsConfError error = error_of(text);
    EXPECT_EQ(error.line, line) << text;
    EXPECT_EQ(name_of(error.fault), name_of(fault)) << text;
  }
}

TEST(PartitionsConf, RunsOutOfNumbers) {
  std::string text;
  for (unsigned i = 0; i < kDefaultPartition - 1U; ++i) text += ":ALL;";
  EXPECT_EQ(parse(text).size(), 0x7fffU);
  EXPECT_EQ(error_of(text + "\n:ALL;").fault, Fault::no_pkey_left);
}

TEST(PartitionsConf, TakesAnyBytes) {
  std::uint32_t state = 1;
  using std::string_view_literals::operator""sv;
  constexpr std::string_view kAlphabet = "A=0x7fF:;,#\n mgidful\0ALSE\xff"sv;
  for (unsigned round = 0; round < 20000; ++round) {
    std::string text;
    for (unsigned i = 0; i < 24; ++i) {
      state = state * 1664525 + 1013904223;
      text += kAlphabet[(state >> 16) % kAlphabet.size()];
    }
    const auto parsed = parse_partitions_conf(text);
    EXPECT_TRUE(!parsed || !parsed->empty()) << text;
  }
}

std::vector<std::string> addresses(const Partition& partition) {
  std::vector<std::string> out;
  for (const MulticastGroup& group : groups_of(partition)) out.push_back(group.mgid.to_string());
  return out;
}

TEST(PartitionGroups, CarryThePkeyWhereTheyAreOfIp) {
  const auto partitions = parse(kExamples);
  EXPECT_EQ(
      addresses(partitions[0]),
      (std::vector<std::string>{"ff12:401b:ffff::ffff:ffff", "ff12:401b:ffff::707", "ff12:601b:ffff::16",
                                "ff12:401b:ffff::16", "ff12:601b:ffff::2", "ff12::1"}));
  EXPECT_EQ(addresses(partitions[1]), std::vector<std::string>{"ff12:401b:8001::ffff:ffff"});
  const auto groups = groups_of(partitions[0]);
  EXPECT_EQ(groups[0].flags.qkey, kIpoibQkey);
  EXPECT_EQ(groups[1].flags.qkey, kIpoibQkey);
  EXPECT_EQ(groups[5].flags.qkey, 0xdeadbeefU);
  EXPECT_EQ(groups[0].pkey, 0xffff);
}

TEST(PartitionGroups, AreOneAScope) {
  const auto partitions =
      parse("A=5,ipoib,scope=2,scope=14:\nmgid=ff12:401b:1234::1\nmgid=ff10:601b:8005::1,sl=3\n;");
  EXPECT_EQ(addresses(partitions[1]),
            (std::vector<std::string>{"ff12:401b:8005::ffff:ffff", "ff1e:401b:8005::ffff:ffff",
                                      "ff12:601b:8005::1", "ff1e:601b:8005::1"}));
  EXPECT_EQ(groups_of(default_partitions()[0]).size(), 1U);
}

// Port 0 of a switch, two hosts and a router.
class PkeyTablesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    Switch sw;
    sw.guid = sw.port_guid = Guid(0x100);
    sw.ports = 8;
    own = graph.at(graph.add_switch(sw).value()).port0;
    EndPort port;
    port.partition_cap = 8;
    for (EndPortId* id : {&host, &manager, &router}) {
      port.guid = Guid(0x200 + graph.end_ports().size());
      port.type = id == &router ? NodeType::router : NodeType::channel_adapter;
      *id = graph.add_end_port(port).value();
    }
    options.self = manager;
  }
  PkeyTable of(EndPortId id, std::string_view conf, std::vector<PkeyTable> before = {}) {
    return make_pkey_tables(graph, parse(conf), options, before).tables[id.value];
  }

  Graph graph;
  EndPortId own, host, manager, router;
  PkeyOptions options;
};

TEST_F(PkeyTablesTest, MakeEverybodyAFullMemberWithoutConfiguration) {
  const auto made = make_pkey_tables(graph, default_partitions(), options);
  for (const PkeyTable& table : made.tables) EXPECT_EQ(table, PkeyTable{0xffff});
  EXPECT_TRUE(made.overflows.empty());
}

TEST_F(PkeyTablesTest, MakeOnlyTheManagerFullWithoutARule) {
  EXPECT_EQ(of(host, ""), PkeyTable{0x7fff});
  EXPECT_EQ(of(own, ""), PkeyTable{0x7fff});
  EXPECT_EQ(of(manager, ""), PkeyTable{0xffff});
}

TEST_F(PkeyTablesTest, ObeyEachChoiceOfPorts) {
  EXPECT_EQ(of(own, "A=1:ALL_SWITCHES;"), (PkeyTable{0x7fff, 1}));
  EXPECT_EQ(of(host, "A=1:ALL_SWITCHES,ALL_ROUTERS,SELF;"), (PkeyTable{0x7fff}));
  EXPECT_EQ(of(host, "A=1:ALL_CAS=full;"), (PkeyTable{0x7fff, 0x8001}));
  EXPECT_EQ(of(router, "A=1:ALL_CAS;B=2:ALL_ROUTERS=full;"), (PkeyTable{0x7fff, 0x8002}));
  EXPECT_EQ(of(manager, "A=1:SELF;"), (PkeyTable{0xffff, 1}));
  EXPECT_EQ(of(host, "A=1:0x201=full;"), (PkeyTable{0x7fff, 0x8001}));
}

TEST_F(PkeyTablesTest, TakeTheLastRuleForAPort) {
  EXPECT_EQ(of(host, "A=1:ALL=full,0x201=limited;"), (PkeyTable{0x7fff, 1}));
  EXPECT_EQ(of(host, "A=1:0x201=limited;A=1:ALL=full;"), (PkeyTable{0x7fff, 0x8001}));
  EXPECT_EQ(of(manager, "A=1:SELF=full;A=1:ALL;"), (PkeyTable{0xffff, 1}));
  EXPECT_EQ(of(manager, "Default=0x7fff:ALL;"), PkeyTable{0xffff}) << "else nobody could speak to the SA";
}

TEST_F(PkeyTablesTest, HoldBothMembershipsWhenAllowed) {
  EXPECT_EQ(of(host, "A=1:ALL=both;"), (PkeyTable{0x7fff, 0x8001}));
  options.allow_both = true;
  EXPECT_EQ(of(host, "A=1:ALL=both;"), (PkeyTable{0x7fff, 1, 0x8001}));
  EXPECT_EQ(of(host, "Default:ALL=both;"), (PkeyTable{0xffff, 0x7fff}));
}

TEST_F(PkeyTablesTest, BeginWithThePartitionOfIndexZero) {
  EXPECT_EQ(of(host, "A=1:ALL;B=2,indx0:ALL=full;"), (PkeyTable{0x8002, 0x0001, 0x7fff}));
  EXPECT_EQ(of(host, "B=2,indx0:SELF;A=1:ALL;"), (PkeyTable{0x7fff, 1}));
}

// Programs hold indexes.
TEST_F(PkeyTablesTest, KeepIndexesOfTheTablesBefore) {
  const std::vector<PkeyTable> before(4, PkeyTable{0x7fff, 0x8009, 0, 0x8001});
  EXPECT_EQ(of(host, "A=1:ALL=full;B=2:ALL;", before), (PkeyTable{0x7fff, 2, 0, 0x8001}));
  EXPECT_EQ(of(host, "A=1:ALL;", before), (PkeyTable{0x7fff, 0, 0, 1})) << "only the membership changed";
  EXPECT_EQ(of(host, "A=9,indx0:ALL=full;", before), (PkeyTable{0x8009, 0x7fff}));
  const std::vector<PkeyTable> long_one(4, PkeyTable(100, 0x8001));
  EXPECT_EQ(of(host, "A=1:ALL=full;", long_one), (PkeyTable{0x7fff, 0x8001}));
}

TEST_F(PkeyTablesTest, TellWhichPortsHaveNoRoom) {
  std::string conf;
  for (unsigned i = 1; i <= 8; ++i) conf += "A" + std::to_string(i) + "=" + std::to_string(i) + ":0x201;";
  const auto made = make_pkey_tables(graph, parse(conf), options);
  EXPECT_EQ(made.overflows, std::vector<EndPortId>{host});
  EXPECT_EQ(made.tables[host.value], (PkeyTable{0x7fff, 1, 2, 3, 4, 5, 6, 7}));
}

}  // namespace
}  // namespace softrnic::subnet
