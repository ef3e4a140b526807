#include "fabric/subnet_management_interface.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "tests/unit/fabric/directed_smp.h"

namespace softrnic::fabric {
namespace {

using enum SmpArrival;

SmpPlace adapter(std::uint8_t port, SmpArrival arrival) {
  return {.is_switch = false, .num_ports = 2, .port = port, .arrival = arrival};
}
SmpPlace switch_at(std::uint8_t port, SmpArrival arrival) {
  return {.is_switch = true, .num_ports = 8, .port = port, .arrival = arrival};
}
SmpDecision out_of(std::uint8_t port) { return {.action = SmpAction::transmit, .port = port}; }
SmpDecision to_lid(std::uint16_t lid) { return {.action = SmpAction::forward, .lid = wire::Lid(lid)}; }
constexpr SmpDecision kDrop{};
constexpr SmpDecision kDeliver{.action = SmpAction::deliver};
constexpr SmpDecision kFinish{.action = SmpAction::finish};

// Adapter by port 1, switch in by 3 and out by 5, switch in by 2 and out by 7, adapter in by 2.
TEST(Smi, GoesPortByPortAndBack) {
  mad::Smp smp = directed({1, 5, 7});
  EXPECT_EQ(route_directed_smp(smp, adapter(1, here)), out_of(1));
  EXPECT_EQ(smp.hop_pointer, 1);
  EXPECT_EQ(route_directed_smp(smp, switch_at(3, by_permissive)), out_of(5));
  EXPECT_EQ(smp.hop_pointer, 2);
  EXPECT_EQ(route_directed_smp(smp, switch_at(2, by_permissive)), out_of(7));
  EXPECT_EQ(smp.hop_pointer, 3);
  EXPECT_EQ(route_directed_smp(smp, adapter(2, by_permissive)), kDeliver);
  EXPECT_EQ(smp.hop_pointer, 4);
  EXPECT_EQ(smp.return_path[1], 3);
  EXPECT_EQ(smp.return_path[2], 2);
  EXPECT_EQ(smp.return_path[3], 2);

  smp.returning = true;
  EXPECT_EQ(route_directed_smp(smp, adapter(2, here)), out_of(2));
  EXPECT_EQ(smp.hop_pointer, 3);
  EXPECT_EQ(route_directed_smp(smp, switch_at(7, by_permissive)), out_of(2));
  EXPECT_EQ(route_directed_smp(smp, switch_at(5, by_permissive)), out_of(3));
  EXPECT_EQ(smp.hop_pointer, 1);
  EXPECT_EQ(route_directed_smp(smp, adapter(1, by_permissive)), kFinish);
  EXPECT_EQ(smp.hop_pointer, 0);
}

TEST(Smi, WithoutHopsIsForTheNodeItself) {
  mad::Smp smp = directed({});
  EXPECT_EQ(route_directed_smp(smp, adapter(1, here)), kDeliver);
  EXPECT_EQ(smp.hop_pointer, 1);
  smp.returning = true;
  EXPECT_EQ(route_directed_smp(smp, adapter(1, here)), kFinish);
  mad::Smp foreign = directed({});
  EXPECT_EQ(route_directed_smp(foreign, switch_at(1, by_permissive)), kDrop);
}

// By LIDs to a switch, one hop, and by LIDs to the end: a part of each kind.
TEST(Smi, JoinsPartsByLid) {
  mad::Smp smp = directed({4});
  smp.dr_slid = wire::Lid(10);
  smp.dr_dlid = wire::Lid(20);
  EXPECT_EQ(route_directed_smp(smp, switch_at(1, by_lid)), out_of(4));
  EXPECT_EQ(route_directed_smp(smp, switch_at(6, by_permissive)), to_lid(20));
  EXPECT_EQ(smp.hop_pointer, 2);
  EXPECT_EQ(route_directed_smp(smp, adapter(1, by_lid)), kDeliver);
  smp.returning = true;
  EXPECT_EQ(route_directed_smp(smp, switch_at(3, by_lid)), out_of(6));
  EXPECT_EQ(route_directed_smp(smp, switch_at(4, by_permissive)), to_lid(10));
  EXPECT_EQ(smp.hop_pointer, 0);
  EXPECT_EQ(route_directed_smp(smp, adapter(1, by_lid)), kFinish);
}

TEST(Smi, AnAdapterPassesNothingOn) {
  mad::Smp between = directed({1, 1, 1});
  between.hop_pointer = 2;
  EXPECT_EQ(route_directed_smp(between, adapter(1, by_permissive)), kDrop);
  mad::Smp begins = directed({2});
  EXPECT_EQ(route_directed_smp(begins, adapter(1, here)), kDrop) << "sent through another port";
  mad::Smp by_its_lid = directed({1});
  by_its_lid.dr_slid = wire::Lid(9);
  EXPECT_EQ(route_directed_smp(by_its_lid, adapter(1, by_lid)), kDrop);
  mad::Smp ends = directed({1});
  ends.hop_pointer = 1;
  ends.dr_dlid = wire::Lid(9);
  EXPECT_EQ(route_directed_smp(ends, adapter(1, by_permissive)), kDrop);
}

TEST(Smi, DropsWhatNoHonestNodeSends) {
  struct Case {
    std::uint8_t pointer, count;
    bool returning;
    SmpArrival arrival;
  };
  const Case cases[] = {
      {0, 3, false, by_permissive},
      {1, 3, false, by_lid},
      {3, 3, false, by_lid},
      {4, 3, false, by_permissive},
      {5, 3, false, by_lid},
      {1, 3, false, here},
      {4, 3, true, by_permissive},
      {2, 3, true, by_lid},
      {1, 3, true, by_lid},
      {0, 3, true, by_permissive},
      {0, 3, true, here},
      {5, 3, true, by_lid},
      {0, 64, false, here},
      {64, 64, false, by_permissive},
      {255, 254, false, by_lid},
      {1, 0, false, by_permissive},
      {200, 63, false, by_permissive},
      {2, 255, true, by_permissive},
  };
  for (const Case& c : cases) {
    mad::Smp smp = directed({1, 2, 3});
    smp.return_path.fill(1);
    smp.hop_pointer = c.pointer;
    smp.hop_count = c.count;
    smp.returning = c.returning;
    EXPECT_EQ(route_directed_smp(smp, switch_at(1, c.arrival)), kDrop)
        << int{c.pointer} << '/' << int{c.count} << (c.returning ? " back " : " out ") << int(c.arrival);
  }
}

TEST(Smi, DropsPortsThatDoNotExist) {
  for (const std::uint8_t port : {std::uint8_t{0}, std::uint8_t{9}, std::uint8_t{255}}) {
    mad::Smp out = directed({1, port, 1});
    out.hop_pointer = 1;
    EXPECT_EQ(route_directed_smp(out, switch_at(1, by_permissive)), kDrop);
    mad::Smp back = directed({1, 1, 1});
    back.hop_pointer = 2;
    back.returning = true;
    back.return_path[1] = port;
    EXPECT_EQ(route_directed_smp(back, switch_at(1, by_permissive)), kDrop);
  }
  for (const wire::Lid lid : {wire::Lid(0), wire::Lid(0xc000), wire::Lid(0xfffe)}) {
    mad::Smp smp = directed({1});
    smp.hop_pointer = 1;
    smp.dr_dlid = lid;
    EXPECT_EQ(route_directed_smp(smp, switch_at(1, by_permissive)), kDrop) << lid.value;
  }
}

// Every pointer, count and arrival: it goes out of a port that exists, and only paths and pointer change.
TEST(Smi, AnyRouteIsSafe) {
  std::mt19937 random(1);
  for (unsigned i = 0; i < 200'000; ++i) {
    mad::Smp smp = directed({});
    smp.hop_pointer = static_cast<std::uint8_t>(random() % 70);
    smp.hop_count = static_cast<std::uint8_t>(random() % 70);
    smp.returning = random() % 2 != 0;
    for (auto* path : {&smp.initial_path, &smp.return_path}) {
      for (std::uint8_t& port : *path) port = static_cast<std::uint8_t>(random() % 12);
    }
    const SmpPlace place{random() % 2 != 0, 8, static_cast<std::uint8_t>(1 + random() % 8),
                         static_cast<SmpArrival>(random() % 3)};
    const mad::Smp before = smp;
    const SmpDecision decision = route_directed_smp(smp, place);
    if (decision.action == SmpAction::transmit) {
      ASSERT_GE(decision.port, 1);
      ASSERT_LE(decision.port, 8);
      ASSERT_LE(smp.hop_pointer, 63);
      ASSERT_TRUE(place.is_switch || decision.port == place.port);
    }
    ASSERT_EQ(smp.initial_path, before.initial_path);
    ASSERT_EQ(smp.hop_count, before.hop_count);
  }
}

}  // namespace
}  // namespace softrnic::fabric
