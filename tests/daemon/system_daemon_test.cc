// softrnicd --system: users of one host beside each other.
#include <rdma/rdma_cma.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/clock.h"
#include "control/channel.h"
#include "control/local_name.h"
#include "control/spawn.h"
#include "tests/daemon/lane_packets.h"
#include "tests/daemon/system_daemon_fixture.h"
#include "tests/support/other_users.h"

namespace softrnic::tests {
namespace {

using control::Client;
using control::LaneGrant;

TEST_F(SystemDaemonTest, ServesEveryUserAndIsNoneOfThem) {
  for (const uid_t user : {uid_t{0}, kVictim, kAttacker}) {
    EXPECT_EQ(as_user(user,
                      [] {
                        Program program;
                        if (!program.complete()) return 1;
                        const auto status = program.client().status();
                        const auto devices = program.client().devices();
                        if (!status || status->all_users != 1 || status->user != kNobody) return 2;
                        return devices && devices->size() == 1 ? 0 : 3;
                      }),
              0)
        << user;
  }
}

TEST_F(SystemDaemonTest, ProgramsOfOneUserShareLocksAndPages) {
  const Child first([] {
    if (!become(kVictim)) return kNoUser;
    auto* const program = new Program;  // for as long as the process lives
    return program->complete() && program->locks() ? program->lane.number : 0;
  });
  ASSERT_GT(first.result(), 0);
  EXPECT_EQ(as_user(kVictim,
                    [&] {
                      Program second;
                      if (!second.locks()) return 1;
                      const auto pages = second.client().pages();
                      if (!pages || pages->size() != 2) return 2;
                      return second.client().find_local_peer(static_cast<std::uint8_t>(first.result())) ? 0
                                                                                                        : 3;
                    }),
            0);
}

// The kernel lets any holder of a lane detach what hands packets out. He does not get them, and it is put
// right.
TEST_F(SystemDaemonTest, WhoDetachesTheSteeringGetsNothingAndItComesBack) {
  const Child attacker([] {
    if (!become(kAttacker)) return kNoUser;
    auto* const own = new Program;
    if (!own->complete()) return 1;
    return sets_to_zero(own->lane.socket, SO_DETACH_REUSEPORT_BPF) ? static_cast<int>(own->lane.number) + 100
                                                                   : 2;
  });
  ASSERT_GT(attacker.result(), 100);
  const int result = as_user(kVictim, [&] {
    Program program;
    std::vector<LaneGrant> lanes;
    lanes.push_back(std::move(program.lane));
    // Lost until the daemon looks again; never another's.
    for (const TimePoint limit = monotonic_now() + std::chrono::seconds(10); monotonic_now() < limit;) {
      if (!send_packets(lanes, 16)) return 1;
      const int came = own_packets(lanes[0]);
      if (came < 0) return 2;
      if (came == 16) return 0;
    }
    return 3;
  });
  EXPECT_EQ(result, 0);
}

TEST_F(SystemDaemonTest, ASocketTakesPacketsOfItsLaneAloneEvenWithoutSteering) {
  EXPECT_EQ(as_user(kAttacker,
                    [] {
                      Program own, second;
                      if (!own.complete() || !second.complete()) return 1;
                      std::vector<LaneGrant> lanes(2);
                      lanes[0].number = second.lane.number;
                      lanes[1].number = own.lane.number;
                      for (int round = 0; round < 20; ++round) {
                        sets_to_zero(own.lane.socket, SO_DETACH_REUSEPORT_BPF);
                        if (!send_packets(lanes, 16)) return 2;
                        if (own_packets(own.lane) < 0 || own_packets(second.lane) < 0) return 3;
                      }
                      return 0;
                    }),
            0);
}

// Who has held a lane may have kept its socket.
TEST_F(SystemDaemonTest, ALaneComesToAnotherUserWithAnotherSocket) {
  const Child attacker([] {
    if (!become(kAttacker)) return kNoUser;
    auto* const own = new Program;
    if (!own->complete()) return 1;
    return own->client().give_back_lane(own->lane.number) ? static_cast<int>(own->lane.number) + 100 : 2;
  });
  ASSERT_GT(attacker.result(), 100);
  EXPECT_EQ(as_user(kVictim,
                    [&] {
                      Program program;
                      return program.complete() && program.lane.number != attacker.result() - 100 ? 0 : 1;
                    }),
            0);
  EXPECT_EQ(as_user(kAttacker,
                    [&] {
                      Program program;
                      return program.complete() && program.lane.number == attacker.result() - 100 ? 0 : 1;
                    }),
            0)
      << "it is his again";
}

TEST_F(SystemDaemonTest, LanesOfOthersAreTakenWhereNoneIsLeft) {
  stop();
  start({"--user-lanes", "254"});
  EXPECT_EQ(as_user(kAttacker,
                    [] {
                      Program program;
                      int more = 0;
                      while (program.client().take_lane()) ++more;
                      return more;
                    }),
            253);
  EXPECT_EQ(as_user(kVictim,
                    [] {
                      Program program;
                      if (!program.complete()) return 1;
                      std::vector<LaneGrant> lanes;
                      lanes.push_back(std::move(program.lane));
                      return send_packets(lanes, 16) && own_packets(lanes[0]) == 16 ? 0 : 2;
                    }),
            0);
}

TEST_F(SystemDaemonTest, AUserHasSoManyLanesConnectionsAndIdsAndOthersGoOn) {
  stop();
  start({"--user-lanes", "3", "--user-connections", "6", "--user-channels", "2", "--user-ids", "4"});
  const Child attacker([] {
    if (!become(kAttacker)) return kNoUser;
    auto* const own = new Program;
    auto* const clients = new std::vector<std::unique_ptr<Client>>;
    while (const auto lane = own->client().take_lane()) continue;
    const auto lane = own->client().take_lane();
    if (lane || !refused_with(EDQUOT, lane.error())) return 1;
    rnic::EventCount events;
    while (own->cm().create_id(own->channel, RDMA_PS_TCP, IBV_QPT_RC, 1)) continue;
    if (own->client().cm_ids().value().size() != 4) return 2;
    if (!own->cm().open_channel(events) || own->cm().open_channel(events)) return 3;
    for (;;) {
      auto client = Client::connect(kOfAll);
      if (!client) return clients->size() == 4 && refused_with(EDQUOT, client.error()) ? 0 : 4;
      clients->push_back(std::move(*client));
    }
  });
  EXPECT_EQ(attacker.result(), 0);
  EXPECT_EQ(as_user(kVictim, [] { return Program().complete() ? 0 : 1; }), 0);
}

// In a user namespace that he made a program has all capabilities, of which this daemon cannot see what for.
TEST_F(SystemDaemonTest, WhatAProgramWithCapabilitiesShowsIsNotBelieved) {
  const Child victim([] { return (new Program)->complete() ? 0 : 1; });
  ASSERT_EQ(victim.result(), 0);
  const int result = Child([] {
                       Program own;
                       if (!own.complete()) return 1;
                       const auto pages = own.client().pages();
                       return pages && pages->empty() && !own.locks() ? 0 : 2;
                     }).result();
  EXPECT_EQ(result, 0);
}

TEST_F(SystemDaemonTest, ADaemonOfAUserStepsBack) {
  if (!test::others_may_run(control::find_daemon())) GTEST_SKIP() << "other users cannot enter this folder";
  EXPECT_EQ(as_user(kVictim,
                    [] {
                      const std::string daemon = control::find_daemon();
                      return std::system((daemon + " --idle 1 2>/dev/null").c_str()) >> 8 & 0xff;
                    }),
            1);
  EXPECT_EQ(as_user(kVictim,
                    [] {
                      const auto client = Client::connect();
                      return client && (*client)->kind() == control::DaemonKind::of_all ? 0 : 1;
                    }),
            0);
}

// As systemd starts it: the socket is root's, the daemon never was.
TEST_F(SystemDaemonTest, TakesTheSocketOfAUnit) {
  if (!test::others_may_run(control::find_daemon())) GTEST_SKIP() << "other users cannot enter this folder";
  stop();
  start_as_unit(kNobody);
  EXPECT_EQ(as_user(kVictim,
                    [] {
                      Program program;
                      return program.complete() ? 0 : 1;
                    }),
            0);
}

TEST_F(SystemDaemonTest, WhoHoldsItsNameIsNotBelieved) {
  if (!test::others_may_run(control::find_daemon())) GTEST_SKIP() << "other users cannot enter this folder";
  stop();
  const Child squatter([] {
    if (!become(kAttacker)) return kNoUser;
    auto listener = control::listen_as(control::system_daemon_name(), 8);
    return listener && listener->release() >= 0 ? 0 : 1;
  });
  ASSERT_EQ(squatter.result(), 0);
  EXPECT_EQ(as_user(kVictim,
                    [] {
                      const auto client = Client::connect();
                      if (!client || (*client)->kind() != control::DaemonKind::of_user) return 1;
                      return (*client)->shutdown() ? 0 : 2;
                    }),
            0);
}

TEST_F(SystemDaemonTest, TheNextOneTakesOverWhereItWasKilled) {
  const Child program([] {
    if (!become(kVictim)) return kNoUser;
    auto* const own = new Program;
    return own->complete() ? static_cast<int>(own->lane.number) : 0;
  });
  ASSERT_GT(program.result(), 0);
  stop(SIGKILL);
  start({});
  EXPECT_EQ(as_user(kAttacker,
                    [&] {
                      Program own;
                      return own.complete() && own.lane.number != program.result() ? 0 : 1;
                    }),
            0);
}

}  // namespace
}  // namespace softrnic::tests
