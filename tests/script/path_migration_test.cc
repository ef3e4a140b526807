// Automatic path migration (IBTA 17.2.8): by the retries, by the peer, by the program; and what MigReq says.
#include "base/reason_id.h"
#include "tests/script/script.h"

namespace softrnic::ib::test {
namespace {

using std::chrono::seconds;

class Migrates : public Script {
 protected:
  Migrates() {
    attributes.alternate.path.source = wire::Gid::from_ipv4_be(0x0100010a);
    attributes.alternate.path.destination = wire::Gid::from_ipv4_be(0x0200010a);
    attributes.alternate.timeout = 10;
    attributes.alternate.loaded = true;
    attributes.retry_count = 1;
    window = &own_window;
    host.other_window = &other;
  }
  AddressVector primary() const { return attributes.path; }
  AddressVector alternate() const { return attributes.alternate.path; }
  void to(Migration state) {
    attributes.migration = state;
    qp().update(attributes);
  }
  void rc_armed() {
    rc();
    to(Migration::armed);
  }
  bool goes_by(const AddressVector& path) {
    return packet.path->destination == path.destination && packet.path->source == path.source;
  }
  void has_migrated() {
    event(QpEvent::path_migrated);
    EXPECT_EQ(host.times_migrated, 1U);
    EXPECT_EQ(qp().window(), &other);
    EXPECT_EQ(own_window.in_flight(), 0U);
  }

  PathWindow other;
};

TEST_F(Migrates, MigReqIsSetInStateMigratedAlone) {
  rc();
  post("send len=8");
  out("RC Send Only psn=5 mig=1 ackreq");
  to(Migration::rearm);
  post("send len=8");
  out("RC Send Only psn=6 mig=0 ackreq");
  to(Migration::armed);
  post("send len=8");
  out("RC Send Only psn=7 mig=0 ackreq");
  post_receive(64);
  in("RC Send Only psn=5 mig=0 len=8 ackreq");
  received("100 success len=8");
  out("RC Acknowledge psn=5 mig=0");
  to(Migration::migrated);
  post_receive(64);
  in("RC Send Only psn=6 len=8 ackreq");
  out("RC Acknowledge psn=6 mig=1");
}

TEST_F(Migrates, IsArmedByAPeerThatIsReady) {
  rc();
  to(Migration::rearm);
  in("RC Acknowledge psn=4 mig=1");  // it has not been told yet, or knows nothing of this
  EXPECT_EQ(host.times_armed, 0U);
  in("RC Acknowledge psn=4 mig=0");
  EXPECT_EQ(host.times_armed, 1U);
  in("RC Acknowledge psn=4 mig=0");
  EXPECT_EQ(host.times_armed, 1U);
  quiet();
}

TEST_F(Migrates, ByTheRetriesThatAreUsedUp) {
  rc_armed();
  post("write len=2000 va=0x10000 rkey=0x20");
  post("read len=8 va=0x10000 rkey=0x20");
  out("RC RDMA Write First psn=5 mig=0");
  out("RC RDMA Write Last psn=6 mig=0 ackreq");
  out("RC RDMA Read Request psn=7 mig=0 ackreq");
  EXPECT_TRUE(goes_by(primary()));
  pass(seconds(1));
  out("RC RDMA Write First psn=5 mig=0");
  out("RC RDMA Write Last psn=6 mig=0 ackreq");
  out("RC RDMA Read Request psn=7 mig=0 ackreq");
  EXPECT_TRUE(goes_by(primary()));
  pass(seconds(1));
  because_of(ReasonId::path_migrated);
  has_migrated();
  out("RC RDMA Write First psn=5 mig=1");
  EXPECT_TRUE(goes_by(alternate()));
  out("RC RDMA Write Last psn=6 mig=1 ackreq");
  out("RC RDMA Read Request psn=7 mig=1 ackreq");
  EXPECT_GT(other.in_flight(), 0U);
  in_by(alternate(), "RC Acknowledge psn=6 msn=1");
  in_by(alternate(), "RC RDMA Read Response Only psn=7 len=8");
  sent("1 success");
  sent("2 success");
  quiet();
}

// The alternate path has the retries of a new one, and there is none after it.
TEST_F(Migrates, OnceAndThenFails) {
  rc_armed();
  post("send len=8");
  out("RC Send Only psn=5 mig=0 ackreq");
  unsigned sends = 0;
  while (host.sends.empty() && sends < 100) {
    pass(std::chrono::milliseconds(5));
    while (qp().transmit(packet, now) == Transmit::packet) ++sends;
  }
  EXPECT_EQ(host.times_migrated, 1U);
  sent("1 retry_exceeded");
  EXPECT_EQ(counted(Counter::timeouts), 4U) << "a try and a retry on each path";
  EXPECT_TRUE(qp().in_error());
}

TEST_F(Migrates, NotBeforeThePeerIsReady) {
  rc();
  to(Migration::rearm);
  post("send len=8");
  out("RC Send Only psn=5 mig=0 ackreq");
  pass(seconds(1));
  out("RC Send Only psn=5 mig=0 ackreq");
  pass(seconds(1));
  sent("1 retry_exceeded");
  EXPECT_EQ(host.times_migrated, 0U);
}

TEST_F(Migrates, BehindAPeerThatHasMigrated) {
  rc_armed();
  post("send len=8");
  out("RC Send Only psn=5 mig=0 ackreq");
  post_receive(64);
  in_by(alternate(), "RC Send Only psn=5 mig=1 len=8 ackreq");
  because_of(ReasonId::path_followed);
  has_migrated();
  received("100 success len=8");
  out("RC Acknowledge psn=5 mig=1");
  EXPECT_TRUE(goes_by(alternate()));
  // What was under way when the path was left may be lost.
  out("RC Send Only psn=5 mig=1 ackreq");
  EXPECT_TRUE(goes_by(alternate()));
  in_by(alternate(), "RC Acknowledge psn=5 mig=1 msn=1");
  sent("1 success");
  quiet();
}

// A peer that has not heard of it is answered by the new path, and so hears of it. Then the old one is
// closed; what comes late by it is nobody's fault.
TEST_F(Migrates, TheOldPathIsOpenUntilThePeerFollows) {
  rc_armed();
  qp().migrate();
  has_migrated();
  post_receive(64);
  in("RC Send Only psn=5 mig=0 len=8 ackreq");
  received("100 success len=8");
  out("RC Acknowledge psn=5 mig=1");
  EXPECT_TRUE(goes_by(alternate()));
  in_by(alternate(), "RC Acknowledge psn=4 mig=1");
  in("RC Send Only psn=6 mig=0 len=8 ackreq");
  EXPECT_EQ(counted(Counter::drop_source), 1U);
  EXPECT_TRUE(host.reasons.empty());
  quiet();
}

TEST_F(Migrates, NotByPacketsThatDoNotAskForIt) {
  rc_armed();
  post_receive(64);
  in_by(alternate(), "RC Send Only psn=5 mig=0 len=8 ackreq");
  because_of(ReasonId::drop_wrong_source);
  in_from(wire::Gid::from_ipv4_be(0x0900010a), "RC Send Only psn=5 mig=1 len=8 ackreq");
  because_of(ReasonId::drop_wrong_source);
  EXPECT_EQ(host.times_migrated, 0U);
  quiet();
}

// Its packets are of this connection all the same.
TEST_F(Migrates, NotToAPathThatIsNotLoadedHere) {
  rc_armed();
  post_receive(64);
  in("RC Send Only psn=5 mig=1 len=8 ackreq");
  because_of(ReasonId::migration_refused);
  event(QpEvent::path_migration_error);
  received("100 success len=8");
  out("RC Acknowledge psn=5 mig=0");
  in("RC Acknowledge psn=4 mig=1");
  quiet();
  to(Migration::rearm);
  in("RC Acknowledge psn=4 mig=0");
  in("RC Acknowledge psn=4 mig=1");  // and is told once more, as it was set anew
  event(QpEvent::path_migration_error);
}

// Paths may differ in their traffic class alone.
TEST_F(Migrates, ToAPathBetweenTheSameAddresses) {
  attributes.alternate.path = attributes.path;
  attributes.alternate.path.traffic_class = 8;
  rc_armed();
  in("RC Acknowledge psn=4 mig=1");
  has_migrated();
  post("send len=8");
  out("RC Send Only psn=5 mig=1 ackreq");
  EXPECT_EQ(packet.path->traffic_class, 8);
}

// Which way the next packet takes is nothing to a peer that has no receive.
TEST_F(Migrates, DuringAnRnrDelayThatGoesOn) {
  rc_armed();
  post("send len=8");
  out("RC Send Only psn=5 mig=0 ackreq");
  in("RC Acknowledge psn=5 mig=0 rnr=20");  // 10.24 ms
  qp().migrate();
  has_migrated();
  silent();
  pass(std::chrono::milliseconds(10));
  silent();
  pass(std::chrono::milliseconds(1));
  out("RC Send Only psn=5 mig=1 ackreq");
  EXPECT_TRUE(goes_by(alternate()));
}

TEST_F(Migrates, BackByTheProgram) {
  rc_armed();
  qp().migrate();
  has_migrated();
  host.other_window = &own_window;
  attributes.migrate();
  to(Migration::armed);
  qp().migrate();
  event(QpEvent::path_migrated);
  EXPECT_EQ(qp().window(), &own_window);
  post("send len=8");
  out("RC Send Only psn=5 mig=1 ackreq");
  EXPECT_EQ(packet.path->destination, wire::Gid::from_ipv4_be(0x0200000a));
}

// UC hears of nothing that is lost, so it follows, or is told.
TEST_F(Migrates, OfUc) {
  uc();
  to(Migration::armed);
  post("send len=8");
  out("UC Send Only psn=5 mig=0");
  post_receive(64);
  in_by(alternate(), "UC Send Only psn=5 mig=1 len=8");
  received("100 success len=8");
  sent("1 success");
  has_migrated();
  post("send len=8");
  out("UC Send Only psn=6 mig=1");
  EXPECT_TRUE(goes_by(alternate()));
}

}  // namespace
}  // namespace softrnic::ib::test
