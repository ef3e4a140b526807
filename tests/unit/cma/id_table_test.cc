// Ids by their numbers and connections.
#include "cma/id_table.h"

#include <gtest/gtest.h>

#include <cerrno>

#include "tests/unit/cma/network.h"

namespace softrnic::cma {
namespace {

TEST(IdTableTest, NumbersAreNeverZeroAndNotGivenAgainAtOnce) {
  IdTable ids;
  Id& first = ids.add(PortSpace::tcp, IBV_QPT_RC, 7);
  const IdNumber number = first.number;
  EXPECT_NE(number, 0U);
  EXPECT_EQ(first.state, State::idle);
  EXPECT_EQ(first.starting_psn, 7U);
  EXPECT_EQ(ids.find(number), &first);
  ASSERT_NE(ids.take(number), nullptr);
  EXPECT_EQ(ids.find(number), nullptr);
  EXPECT_EQ(ids.take(number), nullptr);
  EXPECT_NE(ids.add(PortSpace::tcp, IBV_QPT_RC, 0).number, number);
}

TEST(IdTableTest, AreFoundByTheirConnectionUntilTheyAreTaken) {
  IdTable ids;
  Id& id = ids.add(PortSpace::udp, IBV_QPT_UD, 0);
  EXPECT_EQ(ids.find(cm::Id(5)), nullptr);
  ids.connect(id, cm::Id(5));
  EXPECT_EQ(id.connection, cm::Id(5));
  EXPECT_EQ(ids.find(cm::Id(5)), &id);
  const auto taken = ids.take(id.number);
  EXPECT_EQ(ids.find(cm::Id(5)), nullptr);
  ids.connect(ids.add(PortSpace::udp, IBV_QPT_UD, 0), cm::Id(5));  // the number is free for another
  EXPECT_NE(ids.find(cm::Id(5)), nullptr);
}

TEST(IdTableTest, ProgramsNameWhatTheyKnow) {
  IdTable ids;
  Id& id = ids.add(PortSpace::tcp, IBV_QPT_RC, 0);
  EXPECT_EQ(error_of(ids.find_named(id.number + 1)), ENOENT);
  EXPECT_EQ(error_of(ids.find_named(id.number)), 0);
  EXPECT_EQ(error_of(ids.find_for(id.number, Call::bind)), 0);
  EXPECT_EQ(error_of(ids.find_for(id.number, Call::connect)), EINVAL);
  id.waits_at = 99;
  EXPECT_EQ(error_of(ids.find_named(id.number)), ENOENT);
  EXPECT_EQ(error_of(ids.find_for(id.number, Call::connect)), ENOENT);
}

TEST(IdTableTest, NextGoesThroughAll) {
  IdTable ids;
  EXPECT_EQ(ids.next(0), 0U);
  const IdNumber a = ids.add(PortSpace::tcp, IBV_QPT_RC, 0).number;
  const IdNumber b = ids.add(PortSpace::tcp, IBV_QPT_RC, 0).number;
  EXPECT_EQ(ids.next(0), a);
  EXPECT_EQ(ids.next(a), b);
  EXPECT_EQ(ids.next(b), 0U);
  EXPECT_EQ(ids.size(), 2U);
  EXPECT_FALSE(ids.full());
}

}  // namespace
}  // namespace softrnic::cma
