#include "daemon/gid_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/daemon/network.h"

namespace softrnic::daemon {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

std::vector<net::Address> addresses(std::initializer_list<const char*> texts) {
  std::vector<net::Address> out;
  for (const char* text : texts) out.push_back({2, gid(text), false});
  return out;
}

/// index and text of every used entry
std::vector<std::pair<std::size_t, std::string>> used(const GidTable& table) {
  std::vector<std::pair<std::size_t, std::string>> out;
  const auto entries = table.entries();
  for (std::size_t i = 0; i < entries.size(); ++i)
    if (!entries[i].gid.is_zero()) out.emplace_back(i, entries[i].gid.to_string());
  return out;
}

TEST(GidTable, LinkLocalFirstThenIpv4ThenTheRest) {
  GidTable table;
  table.update(addresses({"2001:db8::1", "10.0.0.1", "fe80::1"}));
  EXPECT_THAT(used(table),
              ElementsAre(Pair(0, "fe80::1"), Pair(1, "::ffff:10.0.0.1"), Pair(2, "2001:db8::1")));
  EXPECT_EQ(table.entries().size(), GidTable::kLength);
}

TEST(GidTable, WithoutLinkLocalIndexZeroIsWhatExists) {
  GidTable table;
  table.update(addresses({"10.0.0.1"}));
  EXPECT_THAT(used(table), ElementsAre(Pair(0, "::ffff:10.0.0.1")));
}

TEST(GidTable, Loopback) {
  GidTable table;
  table.update(addresses({"127.0.0.1", "::1"}));
  EXPECT_THAT(used(table), ElementsAre(Pair(0, "::1"), Pair(1, "::ffff:127.0.0.1")));
}

TEST(GidTable, AnAddressKeepsItsIndex) {
  GidTable table;
  table.update(addresses({"fe80::1", "10.0.0.1", "2001:db8::1"}));
  table.update(addresses({"2001:db8::2", "2001:db8::1", "fe80::1"}));
  EXPECT_THAT(used(table), ElementsAre(Pair(0, "fe80::1"), Pair(2, "2001:db8::1"), Pair(3, "2001:db8::2")))
      << "a new address does not take the place of one that just went";
  table.update(addresses({"10.0.0.1", "2001:db8::2", "2001:db8::1", "fe80::1"}));
  EXPECT_EQ(used(table)[1], std::pair(std::size_t{1}, std::string("::ffff:10.0.0.1")))
      << "and it comes back to it";
}

TEST(GidTable, EveryIpv4AddressHasItsPlaceAndKeepsIt) {
  GidTable table;
  table.update(addresses({"10.0.0.1", "10.0.0.2"}));
  table.update(addresses({"10.0.0.2", "10.0.0.1"}));
  EXPECT_THAT(used(table), ElementsAre(Pair(0, "::ffff:10.0.0.1"), Pair(1, "::ffff:10.0.0.2")));
  table.update(addresses({"10.0.0.2"}));
  EXPECT_THAT(used(table), ElementsAre(Pair(1, "::ffff:10.0.0.2")));
}

TEST(GidTable, SecondaryIpv4ComesBehindTheFirst) {
  GidTable table;
  table.update({{2, gid("10.0.0.2"), true}, {2, gid("2001:db8::1"), false}, {2, gid("10.0.0.1"), false}});
  EXPECT_THAT(used(table),
              ElementsAre(Pair(0, "::ffff:10.0.0.1"), Pair(1, "::ffff:10.0.0.2"), Pair(2, "2001:db8::1")));
}

TEST(GidTable, ManyAddressesLeaveAPlaceForIpv4) {
  GidTable table;
  std::vector<net::Address> many;
  for (int i = 1; i < 40; ++i) many.push_back({2, gid("2001:db8::" + std::to_string(i)), false});
  table.update(many);
  EXPECT_EQ(used(table).size(), GidTable::kLength - 1);
  many.push_back({2, gid("10.0.0.1"), false});
  table.update(many);
  EXPECT_EQ(used(table).back().second, "::ffff:10.0.0.1");
}

}  // namespace
}  // namespace softrnic::daemon
