#include "fabricd/group_memberships.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <chrono>
#include <map>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "mad/guid.h"
#include "mad/sa_multicast_record.h"

namespace softrnic::fabricd {
namespace {

using namespace std::chrono_literals;
using mad::McMemberRecord;
using Number = cma::MembershipNumber;
using Joined = std::vector<std::pair<Number, int>>;

/// An administrator that answers when it is told to.
class GroupMembershipsTest : public testing::Test {
 protected:
  GroupMembershipsTest() {
    sa_.send = [this](std::uint8_t, const mad::Mad& mad) { sent_.push_back(mad); };
  }
  static cma::GroupQuery query_of(std::uint64_t group, bool send_only = false) {
    cma::GroupQuery query;
    query.group = mad::gid_of(0xff12'0000'0000'0000, mad::Guid(group));
    query.port_gid = mad::gid_of(0xfe80'0000'0000'0000, mad::Guid(1));
    query.port = 1;
    query.send_only = send_only;
    return query;
  }
  void join(Number number, const cma::GroupQuery& query = query_of(7)) { memberships_.join(number, query); }
  void leave(Number number) { memberships_.leave(number); }
  static mad::Method method_of(const mad::Mad& mad) { return mad::parse_header(mad)->method; }

  /// The members' joins and leaves so far, and the port's state: as a subnet administrator would have it.
  void answer_all(std::uint16_t status = 0) {
    for (const mad::Mad& question : std::exchange(sent_, {})) {
      auto header = *mad::parse_header(question);
      const bool joins = header.method == mad::Method::set;
      auto record = mad::decode<McMemberRecord>(Bytes(question).subspan(mad::kSaDataOffset));
      if (record.mgid.is_zero()) record.mgid = query_of(99).group;
      if (status == 0) state_[record.mgid.low_half()] = joins;
      header.method = joins ? mad::Method::get_response : mad::Method::delete_response;
      header.status = status;
      mad::Mad answer = question;
      mad::encode_header(header, answer);
      mad::encode(record, MutableBytes(answer).subspan(mad::kSaDataOffset));
      EXPECT_TRUE(sa_.receive(answer));
    }
  }
  /// Until nothing is asked any more.
  void settle() {
    while (!sent_.empty()) answer_all();
  }
  bool is_member(std::uint64_t group = 7) { return state_[group]; }

  SaClient sa_;
  std::vector<mad::Mad> sent_;
  std::map<std::uint64_t, bool> state_;
  Joined joined_;
  GroupMemberships memberships_{sa_, [this](Number number, const cma::GroupAnswer& answer) {
                                  joined_.emplace_back(number, answer ? 0 : answer.error().error);
                                }};
};

TEST_F(GroupMembershipsTest, ThePortIsAMemberUntilTheLastOneLeaves) {
  join(1);
  join(2);
  settle();
  EXPECT_EQ(joined_, (Joined{{1, 0}, {2, 0}}));
  leave(1);
  settle();
  EXPECT_TRUE(is_member());
  leave(2);
  settle();
  EXPECT_FALSE(is_member());
}

TEST_F(GroupMembershipsTest, WhoLeavesDoesNotTakeAwayWhatAnotherOneIsAboutToJoin) {
  join(1);
  settle();
  join(2);
  leave(1);
  settle();
  EXPECT_TRUE(is_member());
  EXPECT_EQ(joined_.back(), (std::pair<Number, int>{2, 0}));
}

TEST_F(GroupMembershipsTest, WhoLeavesBeforeTheAnswerLeavesNothingBehind) {
  join(1);
  leave(1);
  settle();
  EXPECT_FALSE(is_member());
  EXPECT_TRUE(joined_.empty());
}

TEST_F(GroupMembershipsTest, AGroupThatTheAdministratorMakesIsLeftToo) {
  join(1, {.group = {}, .broadcast = {}, .port_gid = query_of(0).port_gid, .port = 1});
  leave(1);
  settle();
  EXPECT_FALSE(is_member(99));
  join(2, {.group = {}, .broadcast = {}, .port_gid = query_of(0).port_gid, .port = 1});
  settle();
  EXPECT_TRUE(is_member(99));
  leave(2);
  settle();
  EXPECT_FALSE(is_member(99));
}

TEST_F(GroupMembershipsTest, AnotherJoinOfTheSameNumberIsAnotherOne) {
  join(1);
  leave(1);
  join(1, query_of(8));
  settle();
  EXPECT_FALSE(is_member(7));
  EXPECT_TRUE(is_member(8));
  EXPECT_EQ(joined_, (Joined{{1, 0}}));
}

TEST_F(GroupMembershipsTest, ARepeatedLeaveDoesNotUndoALaterJoin) {
  join(1);
  settle();
  leave(1);
  ASSERT_EQ(sent_.size(), 1U);
  sent_.clear();  // it is lost
  join(2);
  settle();
  sa_.advance(monotonic_now() + 1h);
  settle();
  EXPECT_TRUE(is_member());
}

TEST_F(GroupMembershipsTest, SendOnlyIsAMembershipOfItsOwn) {
  join(1);
  join(2, query_of(7, true));
  settle();
  leave(1);
  ASSERT_EQ(sent_.size(), 1U);
  EXPECT_EQ(method_of(sent_[0]), mad::Method::delete_record);
  const auto record = mad::decode<McMemberRecord>(Bytes(sent_[0]).subspan(mad::kSaDataOffset));
  EXPECT_EQ(record.join_state, mad::join_state::kFullMember);
}

TEST_F(GroupMembershipsTest, ARefusalIsTold) {
  join(1);
  answer_all(0x0200);  // ERR_NO_RESOURCES
  EXPECT_EQ(joined_, (Joined{{1, ENETUNREACH}}));
  settle();
  leave(1);
  EXPECT_TRUE(sent_.empty()) << "there is nothing to leave";
}

}  // namespace
}  // namespace softrnic::fabricd
