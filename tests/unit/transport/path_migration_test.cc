// What packets say of the peer's path: every row of the table in path_migration.h.
#include "transport/ib/path_migration.h"

#include <gtest/gtest.h>

namespace softrnic::ib {
namespace {

const wire::Gid kHere = wire::Gid::from_ipv4_be(0x0100000a), kThere = wire::Gid::from_ipv4_be(0x0200000a);
const wire::Gid kOtherHere = wire::Gid::from_ipv4_be(0x0100010a);
const wire::Gid kOtherThere = wire::Gid::from_ipv4_be(0x0200010a);
const wire::Gid kStranger = wire::Gid::from_ipv4_be(0x0300000a);

RxPacket packet(const wire::Gid& source, const wire::Gid& destination, bool asks) {
  RxPacket out;
  out.source = source;
  out.destination = destination;
  out.packet.headers.bth.migration_request = asks;
  return out;
}

class PathMigrationTest : public ::testing::Test {
 protected:
  PathMigrationTest() {
    attributes.path.source = kHere;
    attributes.path.destination = kThere;
    attributes.alternate.path.source = kOtherHere;
    attributes.alternate.path.destination = kOtherThere;
    attributes.alternate.loaded = true;
  }
  PathNews hear(Migration state, const wire::Gid& source, const wire::Gid& destination, bool asks) {
    attributes.migration = state;
    migration.set();
    return migration.hear(packet(source, destination, asks));
  }

  Attributes attributes;
  PathMigration migration{attributes};
};

TEST_F(PathMigrationTest, TheTable) {
  struct Row {
    Migration state;
    bool asks;
    wire::Gid source, destination;
    PathNews news;
  };
  const Row rows[] = {
      {Migration::migrated, false, kThere, kHere, PathNews::none},
      {Migration::migrated, true, kOtherThere, kOtherHere, PathNews::none},
      {Migration::rearm, false, kThere, kHere, PathNews::armed},
      {Migration::rearm, true, kThere, kHere, PathNews::none},
      {Migration::rearm, false, kOtherThere, kOtherHere, PathNews::none},
      {Migration::rearm, true, kOtherThere, kOtherHere, PathNews::migrated},
      {Migration::rearm, true, kOtherThere, kHere, PathNews::none},
      {Migration::armed, false, kThere, kHere, PathNews::none},
      {Migration::armed, false, kOtherThere, kOtherHere, PathNews::none},
      {Migration::armed, true, kOtherThere, kOtherHere, PathNews::migrated},
      {Migration::armed, true, kThere, kHere, PathNews::refused},
      {Migration::armed, true, kOtherThere, kHere, PathNews::refused},
      {Migration::armed, true, kStranger, kOtherHere, PathNews::none},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(&row - rows);
    EXPECT_EQ(hear(row.state, row.source, row.destination, row.asks), row.news);
    EXPECT_EQ(attributes.migration, row.news == PathNews::armed ? Migration::armed : row.state);
  }
}

TEST_F(PathMigrationTest, ARefusalIsToldOnce) {
  EXPECT_EQ(hear(Migration::armed, kThere, kHere, true), PathNews::refused);
  EXPECT_EQ(migration.hear(packet(kThere, kHere, true)), PathNews::none);
  migration.set();
  EXPECT_EQ(migration.hear(packet(kThere, kHere, true)), PathNews::refused);
}

TEST_F(PathMigrationTest, KnowsThePathThatWasLeft) {
  EXPECT_FALSE(migration.left(packet(kThere, kHere, false)));
  attributes.migration = Migration::armed;
  EXPECT_TRUE(migration.ready());
  attributes.migrate();
  migration.gone();
  EXPECT_TRUE(migration.listens() && migration.awaits_peer());
  EXPECT_EQ(migration.hear(packet(kThere, kHere, false)), PathNews::none);
  EXPECT_TRUE(migration.awaits_peer()) << "that was by the path that was left";
  EXPECT_EQ(migration.hear(packet(kOtherThere, kOtherHere, true)), PathNews::none);
  EXPECT_FALSE(migration.listens() || migration.awaits_peer());
  EXPECT_TRUE(migration.left(packet(kThere, kHere, false)));
  EXPECT_FALSE(migration.left(packet(kStranger, kHere, false)));
  EXPECT_EQ(attributes.path.destination, kOtherThere);
  attributes.alternate.loaded = false;
  EXPECT_FALSE(migration.left(packet(kThere, kHere, false)));
}

}  // namespace
}  // namespace softrnic::ib
