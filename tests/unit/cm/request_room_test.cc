// Who is given up when too many requests have to be remembered, and who is held meanwhile.
#include "cm/request_room.h"

#include "base/reason_id.h"
#include "cm/held_requests.h"
#include "tests/unit/cm/parts.h"

namespace softrnic::cm {
namespace {

class RoomTest : public Parts {
 protected:
  static Limits few() {
    Limits limits;
    limits.half_open = 3;
    limits.half_open_peer = 2;
    limits.connections = 4;
    limits.strangers = limits.strangers_a_second = 1;
    limits.asked_peer = 1;
    return limits;
  }
  /// A MAD from 10.0.0.`peer`.
  Incoming from(std::uint32_t peer) {
    sender.remote = gid(peer);
    return {sender, header, mad, now};
  }
  Connection& half_open(std::uint32_t id, std::uint32_t peer) {
    Connection& connection = add(id, peer);
    lifecycle.enter(connection, State::req_received);
    return connection;
  }

  Limits limits = few();
  mad::Address sender;
  const mad::Mad mad = encode(Req{}, 1);
  const mad::Header header = *mad::parse_header(mad);
  RequestRoom room{host, limits, table, lifecycle};
  HeldRequests held{limits, table, lifecycle, transmission};
};

TEST_F(RoomTest, TheOldestGoesAndItsHostIsTold) {
  for (std::uint32_t i = 1; i <= 3; ++i) half_open(i, i);
  EXPECT_TRUE(room.make(from(9), Burden::half_open));
  ASSERT_EQ(host.events.size(), 1U);
  EXPECT_EQ(host.events[0].id, Id(1));
  EXPECT_EQ(host.events[0].kind, EventKind::unreachable);
  EXPECT_EQ(host.events[0].reason.id, ReasonId::cm_limit);
  EXPECT_TRUE(host.sent.empty()) << "without a word to its peer";
}

TEST_F(RoomTest, APeerPushesOutItsOwn) {
  half_open(1, 1);
  half_open(2, 2);
  half_open(3, 2);
  EXPECT_TRUE(room.make(from(2), Burden::half_open));
  ASSERT_EQ(host.events.size(), 1U);
  EXPECT_EQ(host.events[0].id, Id(2));
}

TEST_F(RoomTest, NobodyWhoIsProvenMakesRoom) {
  for (std::uint32_t i = 1; i <= 4; ++i) lifecycle.enter(add(i), State::established);
  EXPECT_FALSE(room.make(from(9), Burden::half_open));
  ASSERT_EQ(host.reasons.size(), 1U);
  EXPECT_EQ(host.reasons[0].id, ReasonId::cm_too_many_ids);
}

TEST_F(RoomTest, BeyondTheAllowanceOneOfAPeerIsAskedTheOthersAreHeld) {
  EXPECT_EQ(held.burden_of_next(gid(1), now), Burden::half_open);
  EXPECT_EQ(held.burden_of_next(gid(1), now), Burden::asked);
  held.hold(half_open(1, 1), from(1), Burden::asked);
  EXPECT_EQ(sent(), Messages{Message::dreq});
  EXPECT_EQ(held.burden_of_next(gid(1), now), Burden::held);
  EXPECT_EQ(held.burden_of_next(gid(2), now), Burden::asked);
  held.hold(half_open(2, 1), from(1), Burden::held);
  EXPECT_TRUE(sent().empty());
  EXPECT_EQ(table.burden(Burden::half_open), 0U);
}

TEST_F(RoomTest, AHeldRequestIsReleasedAsItCameAndTheNextIsAsked) {
  held.hold(half_open(1, 1), from(1), Burden::asked);
  held.hold(half_open(2, 1), from(1), Burden::held);
  sent();
  const auto released = held.release(*table.find(1));
  EXPECT_EQ(released.mad, mad);
  EXPECT_EQ(released.peer.remote, gid(1));
  EXPECT_EQ(released.datagrams_out, 1U);
  EXPECT_EQ(table.find(1), nullptr);
  held.ask_next(gid(1));
  EXPECT_EQ(sent(), Messages{Message::dreq});
  EXPECT_TRUE(table.find(2)->asked);
  held.ask_next(gid(2));
  EXPECT_TRUE(sent().empty());
}

TEST_F(RoomTest, ARepetitionIsToldWhenTheAllowanceHasRoomAgain) {
  Connection& connection = half_open(1, 1);
  EXPECT_FALSE(held.repeated(connection, now)) << "it is not held";
  EXPECT_EQ(held.burden_of_next(gid(1), now), Burden::half_open);
  held.hold(connection, from(1), Burden::asked);
  sent();
  EXPECT_FALSE(held.repeated(connection, now));
  EXPECT_EQ(sent(), Messages{Message::dreq}) << "it is asked again";
  EXPECT_TRUE(held.repeated(connection, now + std::chrono::seconds(1)));
}

TEST_F(RoomTest, OnlySoManyRefusalsAreRemembered) {
  limits.refused = limits.refused_peer = 1;
  for (std::uint32_t id : {1U, 2U}) {
    Connection& connection = add(id);
    connection.refused = true;
    connection.sent = encode(Rej{}, 1);
    lifecycle.enter_timewait(connection, now);
    EXPECT_EQ(room.may_stay(connection), id == 1);
  }
}

}  // namespace
}  // namespace softrnic::cm
