// Paths with LIDs: what REQs say of them both ways, and that nobody is sent to a port that never asked.
#include "base/reason_id.h"
#include "tests/unit/cm/pair.h"

namespace softrnic::cm {
namespace {

constexpr wire::Lid kLidOfA(0x11), kLidOfB(0x22), kLidOfOther(0x33);

wire::Gid gid_of(std::uint8_t last) {
  wire::Gid gid;
  gid.raw[0] = std::byte{0xfe};
  gid.raw[1] = std::byte{0x80};
  gid.raw[15] = std::byte{last};
  return gid;
}

class InfinibandPaths : public Pair {
 protected:
  /// Within the subnet, of SL 3.
  static Path local_path() {
    Path path;
    path.local = gid_of(0xa);
    path.remote = gid_of(0xb);
    path.interface_index = 1;
    path.local_lid = kLidOfA;
    path.remote_lid = kLidOfB;
    path.mtu = 4;
    path.rate = 7;
    path.hop_limit = 0;
    path.sl = 3;
    path.ack_timeout = 17;
    return path;
  }
  static Request request_by(const Path& path) {
    Request request = Pair::request();
    request.path = path;
    return request;
  }
  /// The REQ that `a` sends, as `b` gets it.
  Req req_by(const Path& path) {
    active = *a.manager.connect(request_by(path), now);
    EXPECT_EQ(a.host.sent.size(), 1U);
    return decode<Req>(a.host.sent.at(0).mad);
  }
  /// `b` gets `req` from `from` and rejects it.
  RejectReason rejected(const Req& req, const mad::Address& from, ReasonId why) {
    b.manager.receive(from, encode(req, 7), now);
    EXPECT_TRUE(b.host.events.empty());
    EXPECT_TRUE(!b.host.reasons.empty() && b.host.reasons.back().id == why);
    const auto sent = b.host.take_sent();
    EXPECT_EQ(sent.size(), 1U);
    if (sent.empty()) return RejectReason::none;
    EXPECT_EQ(sent[0].to, from) << "the way back";
    return decode<Rej>(sent[0].mad).reason;
  }
};

TEST_F(InfinibandPaths, AReqWithinTheSubnetHasBothLids) {
  const Req req = req_by(local_path());
  EXPECT_EQ(req.primary.local_lid, 0x11);
  EXPECT_EQ(req.primary.remote_lid, 0x22);
  EXPECT_TRUE(req.primary.subnet_local);
  EXPECT_EQ(req.primary.sl, 3);
  EXPECT_EQ(req.primary.rate, 7);
  const auto& to = a.host.sent[0].to;
  EXPECT_EQ(to.local, gid_of(0xa)) << "it has a GRH";
  EXPECT_EQ(to.local_lid, kLidOfA);
  EXPECT_EQ(to.remote_lid, kLidOfB);
  EXPECT_EQ(to.sl, 3);
}

TEST_F(InfinibandPaths, ThePassiveSideSeesTheSamePathFromItsEnd) {
  req_by(local_path());
  deliver(a, b);
  const auto asked = b.event();
  EXPECT_EQ(asked.path.local, gid_of(0xb));
  EXPECT_EQ(asked.path.remote, gid_of(0xa));
  EXPECT_EQ(asked.path.local_lid, kLidOfB);
  EXPECT_EQ(asked.path.remote_lid, kLidOfA);
  EXPECT_EQ(asked.path.sl, 3);
  EXPECT_TRUE(asked.path.is_subnet_local());
  ASSERT_TRUE(b.manager.reply(asked.id, reply(), now));
  const auto sent = b.host.take_sent();
  ASSERT_EQ(sent.size(), 1U);
  EXPECT_EQ(sent[0].to.remote_lid, kLidOfA);
  EXPECT_EQ(sent[0].to.local_lid, kLidOfB);
  EXPECT_EQ(sent[0].to.sl, 3);
}

// As Linux, which knows no LID of the other end then.
TEST_F(InfinibandPaths, AReqThatLeavesTheSubnetHasPermissiveLidsAndIsAnsweredTheWayItCame) {
  Path path = local_path();
  path.hop_limit = 64;
  const Req req = req_by(path);
  EXPECT_EQ(req.primary.local_lid, 0xffff);
  EXPECT_EQ(req.primary.remote_lid, 0xffff);
  EXPECT_FALSE(req.primary.subnet_local);
  EXPECT_EQ(a.host.sent[0].to.remote_lid, kLidOfB) << "the router's";
  mad::Address from = turned_round(a.host.sent[0].to);
  from.remote_lid = kLidOfOther;  // of the router, there
  from.sl = 5;
  b.manager.receive(from, a.host.sent[0].mad, now);
  const auto asked = b.event();
  EXPECT_EQ(asked.path.remote_lid, kLidOfOther);
  EXPECT_EQ(asked.path.local_lid, kLidOfB);
  EXPECT_EQ(asked.path.sl, 5);
  EXPECT_FALSE(asked.path.is_subnet_local());
}

TEST_F(InfinibandPaths, CannotNameAnotherPortAsTheWayToItsQueuePair) {
  Req req = req_by(local_path());
  const mad::Address from = turned_round(a.host.sent[0].to);
  req.primary.local_lid = kLidOfOther.value;
  EXPECT_EQ(rejected(req, from, ReasonId::cm_foreign_lid), RejectReason::unsupported_request);
  req.primary.local_lid = 0xc001;  // of a group
  EXPECT_EQ(rejected(req, from, ReasonId::cm_foreign_lid), RejectReason::unsupported_request);
}

TEST_F(InfinibandPaths, AnOldPathToThisPortIsRefused) {
  Req req = req_by(local_path());
  const mad::Address from = turned_round(a.host.sent[0].to);
  req.primary.remote_lid = kLidOfOther.value;
  EXPECT_EQ(rejected(req, from, ReasonId::cm_wrong_lid), RejectReason::primary_remote_lid);
}

TEST_F(InfinibandPaths, AReqWithoutGrhIsNotBelieved) {
  const Req req = req_by(local_path());
  mad::Address from = turned_round(a.host.sent[0].to);
  from.local = wire::Gid::of_lid(kLidOfB);
  from.remote = wire::Gid::of_lid(kLidOfA);
  EXPECT_EQ(rejected(req, from, ReasonId::cm_foreign_path), RejectReason::unsupported_request);
}

TEST_F(InfinibandPaths, AConnectionIsItsPeersGidNotItsLid) {
  active = *a.manager.connect(request_by(local_path()), now);
  deliver(a, b);
  passive = b.event().id;
  ASSERT_TRUE(b.manager.reply(passive, reply(), now));
  const auto rep = b.host.take_sent().at(0);
  mad::Address forged = turned_round(rep.to);
  forged.remote = gid_of(0xc);  // from the right LID
  a.manager.receive(forged, rep.mad, now);
  EXPECT_TRUE(a.host.events.empty());
  mad::Address other_port = turned_round(rep.to);
  other_port.interface_index = 2;  // link-local GIDs are of one port
  a.manager.receive(other_port, rep.mad, now);
  EXPECT_TRUE(a.host.events.empty());
  a.manager.receive(turned_round(rep.to), rep.mad, now);
  EXPECT_EQ(a.event().kind, EventKind::reply);
}

TEST_F(InfinibandPaths, ServiceIdsAreAskedForByLid) {
  SidrRequest question;
  question.service_id = kService;
  question.path = local_path();
  active = *a.manager.request_service_id(question, now);
  deliver(a, b);
  const auto asked = b.event();
  ASSERT_EQ(asked.kind, EventKind::service_id_request);
  EXPECT_EQ(asked.path.local_lid, kLidOfB);
  EXPECT_EQ(asked.path.remote_lid, kLidOfA);
  EXPECT_EQ(asked.path.sl, 3);
  EXPECT_TRUE(asked.path.is_subnet_local());
  ASSERT_TRUE(b.manager.answer(asked.id, {.qpn = Qpn(0x55)}, now));
  EXPECT_EQ(b.host.sent.at(0).to.remote_lid, kLidOfA);
}

TEST_F(InfinibandPaths, AnSlHasFourBits) {
  Path path = local_path();
  path.sl = 16;
  const auto refused = a.manager.connect(request_by(path), now);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().error, EINVAL);
}

}  // namespace
}  // namespace softrnic::cm
