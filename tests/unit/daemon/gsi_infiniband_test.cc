// QP1 of two emulated hosts, by frames through a socket each.
#include <sys/socket.h>

#include <optional>

#include "base/reason_id.h"
#include "link/fabric_link.h"
#include "tests/unit/daemon/gsi_fixture.h"

namespace softrnic::daemon {
namespace {

using link::test::gid_of;

constexpr std::uint32_t kPort = 1;
constexpr wire::Lid kLidOfA(0x10), kLidOfB(0x20);

class GsiOnFabric : public GsiFixture {
 protected:
  void SetUp() override {
    GsiFixture::SetUp();
    int ends[2];
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends), 0);
    a_.emplace(std::make_unique<link::FabricLink>(UniqueFd(ends[0])), page_);
    b_.emplace(std::make_unique<link::FabricLink>(UniqueFd(ends[1])), page_);
    a_->set_addresses({{gid_of("fe80::a"), kPort}, {wire::Gid::of_lid(kLidOfA), kPort}});
    b_->set_addresses({{gid_of("fe80::b"), kPort}, {wire::Gid::of_lid(kLidOfB), kPort}});
    listen(*a_);
    listen(*b_);
  }
  static mad::Address from_a_to_b() {
    mad::Address to;
    to.local = gid_of("fe80::a");
    to.remote = gid_of("fe80::b");
    to.interface_index = kPort;
    to.local_lid = kLidOfA;
    to.remote_lid = kLidOfB;
    to.sl = 5;
    to.hop_limit = 0;
    to.traffic_class = 0x20;
    to.flow_label = 0x12345;
    return to;
  }
  static mad::Address turned_round(mad::Address address) {
    std::swap(address.local, address.remote);
    std::swap(address.local_lid, address.remote_lid);
    return address;
  }
  void send(Gsi& from, const mad::Address& to, Gsi& there) {
    mad::Mad mad;
    mad.fill(std::byte{7});
    from.send(to, mad, TimePoint{});
    from.flush(TimePoint{});
    there.receive(TimePoint{});
  }
  /// What `b` got from `a`, once.
  std::optional<mad::Address> arrived(const mad::Address& to) {
    got_.clear();
    send(*a_, to, *b_);
    EXPECT_LE(got_.size(), 1U);
    return got_.empty() ? std::nullopt : std::optional(got_[0].from);
  }
  ReasonId dropped(const mad::Address& to) {
    explanations.clear();
    EXPECT_FALSE(arrived(to));
    return explanations.empty() ? ReasonId::none : explanations.back().reason.id;
  }

  std::optional<Gsi> a_, b_;
};

TEST_F(GsiOnFabric, MadsTravelByLidWithAGrhAndBack) {
  const auto from = arrived(from_a_to_b());
  ASSERT_TRUE(from);
  EXPECT_EQ(*from, turned_round(from_a_to_b()));
  EXPECT_EQ(got_[0].mad, std::vector(mad::kMadBytes, std::byte{7}));
  send(*b_, *from, *a_);
  ASSERT_EQ(got_.size(), 2U);
  EXPECT_EQ(got_[1].from, from_a_to_b());
  EXPECT_TRUE(explanations.empty());
}

TEST_F(GsiOnFabric, PathBitsAreThoseOfTheLid) {
  mad::Address to = from_a_to_b();
  to.local_lid = wire::Lid(0x13);
  to.remote_lid = wire::Lid(0x21);
  const auto from = arrived(to);
  ASSERT_TRUE(from);
  EXPECT_EQ(from->remote_lid, wire::Lid(0x13));
  EXPECT_EQ(from->local_lid, wire::Lid(0x21));
}

TEST_F(GsiOnFabric, WithoutAGrhLidsAreAllThereIs) {
  mad::Address to = from_a_to_b();
  to.remote_lid = wire::Lid(0x21);  // one of several, by the LMC
  to.local = wire::Gid::of_lid(to.local_lid);
  to.remote = wire::Gid::of_lid(to.remote_lid);
  const auto from = arrived(to);
  ASSERT_TRUE(from);
  EXPECT_EQ(from->remote, wire::Gid::of_lid(kLidOfA));
  EXPECT_EQ(from->local, wire::Gid::of_lid(wire::Lid(0x21)));
  EXPECT_EQ(from->interface_index, kPort);
  send(*b_, *from, *a_);
  ASSERT_EQ(got_.size(), 2U);
  EXPECT_EQ(got_[1].from.local, wire::Gid::of_lid(kLidOfA));
}

TEST_F(GsiOnFabric, AnotherGidOrPortIsNotOurs) {
  mad::Address to = from_a_to_b();
  to.remote = gid_of("fe80::c");
  EXPECT_EQ(dropped(to), ReasonId::mad_wrong_gid);
  to.remote = wire::Gid::of_lid(to.remote_lid);
  b_->set_addresses({{gid_of("fe80::b"), kPort}, {wire::Gid::of_lid(kLidOfB), kPort + 1}});
  EXPECT_EQ(dropped(to), ReasonId::mad_wrong_gid);
}

TEST_F(GsiOnFabric, PartitionsAreThoseOfThePort) {
  b_->set_pkeys(kPort, {0xffff, 0x8001});
  a_->set_pkeys(kPort, {0x0001});
  mad::Address to = from_a_to_b();
  to.pkey = 0x8001;
  const auto from = arrived(to);
  ASSERT_TRUE(from) << "a limited member talks to a full one";
  EXPECT_EQ(from->pkey, 0x8001) << "as which it is answered";
  b_->set_pkeys(kPort, {0x0001});
  EXPECT_EQ(dropped(to), ReasonId::drop_pkey_mismatch) << "and not to a limited one";
  b_->set_pkeys(kPort, {0xffff});
  EXPECT_EQ(dropped(to), ReasonId::drop_pkey_mismatch);
  b_->set_pkeys(kPort, {});
  EXPECT_EQ(dropped(to), ReasonId::drop_pkey_mismatch) << "of none";
}

TEST_F(GsiOnFabric, NothingLeavesInAPartitionThatThePortIsNotIn) {
  mad::Address to = from_a_to_b();
  to.pkey = 0x8005;
  EXPECT_EQ(dropped(to), ReasonId::no_such_pkey);
  EXPECT_EQ(counter(ib::Counter::send_errors), 1U);
}

}  // namespace
}  // namespace softrnic::daemon
