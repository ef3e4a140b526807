// Which rules a frame meets, as ibv_create_flow(3) orders them.
#include "ethernet/flow_table.h"

#include <gtest/gtest.h>

#include "tests/unit/ethernet/frames.h"

namespace softrnic::ethernet {
namespace {

using test::FrameBuilder;

class FlowTableTest : public testing::Test {
 protected:
  static FlowRule to_port(unsigned port, std::uint16_t priority = 0) {
    FlowRule rule;
    rule.priority = priority;
    rule.match.layers = kUdp;
    rule.match.value.stack[0].destination_port = __builtin_bswap16(static_cast<std::uint16_t>(port));
    rule.match.mask.stack[0].destination_port = 0xffff;
    rule.match.prepare();
    return rule;
  }
  static FlowRule of(RuleKind kind) {
    FlowRule rule;
    rule.kind = kind;
    return rule;
  }
  static ParsedFrame to_udp(unsigned port) {
    return parse(FrameBuilder().ethernet(0x0800).ipv4(17).udp(9, port));
  }
  static ParsedFrame to_group() {
    return parse(FrameBuilder().raw({1, 0, 0x5e, 0, 0, 1, 2, 0, 0, 0, 0, 2}).be16(0x0800).ipv4(17).udp(9, 9));
  }
  std::vector<const FlowRule*> met(const ParsedFrame& frame, bool leaves = false) const {
    std::vector<const FlowRule*> rules;
    table.classify(frame, leaves, [&](FlowRule& rule) { rules.push_back(&rule); });
    return rules;
  }
  using Rules = std::vector<const FlowRule*>;

  FlowTable table;
};

TEST_F(FlowTableTest, AMatchIsAValueUnderAMask) {
  FlowRule any_of_16 = to_port(5678);
  any_of_16.match.mask.stack[0].destination_port = __builtin_bswap16(0xfff0);
  any_of_16.match.prepare();
  table.add(any_of_16);
  EXPECT_EQ(met(to_udp(5679)), Rules{&any_of_16});
  EXPECT_EQ(met(to_udp(5664)), Rules{&any_of_16});
  EXPECT_EQ(met(to_udp(5680)), Rules{});
  EXPECT_EQ(met(parse(FrameBuilder().ethernet(0x0800).ipv4(6).tcp(9, 5678))), Rules{}) << "no UDP";
}

TEST_F(FlowTableTest, TheFirstByPriorityThenByAgeTraps) {
  FlowRule late = to_port(1, 7);
  FlowRule first = to_port(1, 3);
  FlowRule other = to_port(2, 0);
  FlowRule wide;
  wide.priority = 3;
  wide.match.layers = kIpv4;
  wide.match.prepare();
  for (FlowRule* rule : {&late, &first, &other, &wide}) table.add(*rule);
  EXPECT_EQ(met(to_udp(1)), Rules{&first});
  EXPECT_EQ(met(to_udp(3)), Rules{&wide});
  table.remove(first);
  EXPECT_EQ(met(to_udp(1)), Rules{&wide});
  table.remove(wide);
  EXPECT_EQ(met(to_udp(1)), Rules{&late});
}

TEST_F(FlowTableTest, EqualRulesShare) {
  FlowRule a = to_port(1), b = to_port(1), elsewhere = to_port(2), lower = to_port(1, 1);
  for (FlowRule* rule : {&a, &elsewhere, &b, &lower}) table.add(*rule);
  EXPECT_EQ(met(to_udp(1)), (Rules{&a, &b}));
}

TEST_F(FlowTableTest, WithoutATrapTheFrameGoesOn) {
  FlowRule passes = to_port(1), below = to_port(1, 1), last = of(RuleKind::all_default);
  passes.dont_trap = true;
  for (FlowRule* rule : {&passes, &below, &last}) table.add(*rule);
  EXPECT_EQ(met(to_udp(1)), (Rules{&passes, &below}));
  table.remove(below);
  EXPECT_EQ(met(to_udp(1)), (Rules{&passes, &last}));
}

TEST_F(FlowTableTest, DefaultsGetWhatIsLeft) {
  FlowRule all = of(RuleKind::all_default), groups = of(RuleKind::group_default), normal = to_port(1);
  for (FlowRule* rule : {&all, &groups, &normal}) table.add(*rule);
  EXPECT_EQ(met(to_udp(1)), Rules{&normal});
  EXPECT_EQ(met(to_udp(2)), Rules{&all});
  EXPECT_EQ(met(to_group()), (Rules{&all, &groups}));
}

TEST_F(FlowTableTest, SniffersSeeEverything) {
  FlowRule sniffer = of(RuleKind::sniffer), normal = to_port(1), dropping = to_port(2);
  dropping.drop = true;
  for (FlowRule* rule : {&normal, &sniffer, &dropping}) table.add(*rule);
  EXPECT_EQ(met(to_udp(1)), (Rules{&sniffer, &normal}));
  EXPECT_EQ(met(to_udp(2)), (Rules{&sniffer, &dropping}));
  EXPECT_EQ(met(to_udp(1), true), Rules{&sniffer}) << "on its way out";
}

TEST_F(FlowTableTest, WhatDoesNotCountDoesNotMakeRulesDiffer) {
  FlowRule a = to_port(1), b = to_port(1);
  b.match.value.stack[0].source_port = 77;  // under no mask
  b.match.prepare();
  EXPECT_TRUE(a.match == b.match);
}

}  // namespace
}  // namespace softrnic::ethernet
