#include "net/netlink_socket.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace softrnic::net {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

/// A message with an rtmsg and whatever attributes are added.
class Message {
 public:
  Message() { header().nlmsg_len = NLMSG_SPACE(sizeof(rtmsg)); }
  nlmsghdr& header() { return *reinterpret_cast<nlmsghdr*>(bytes_); }

  /// `claimed` is the length that the attribute states.
  void add(unsigned short type, std::vector<std::uint8_t> value, std::size_t claimed) {
    const rtattr attribute{static_cast<unsigned short>(claimed), type};
    std::uint8_t* const at = bytes_ + header().nlmsg_len;
    std::memcpy(at, &attribute, sizeof attribute);
    std::copy(value.begin(), value.end(), at + RTA_LENGTH(0));
    header().nlmsg_len += static_cast<std::uint32_t>(RTA_SPACE(value.size()));
  }
  void add(unsigned short type, const std::vector<std::uint8_t>& value) {
    add(type, value, RTA_LENGTH(value.size()));
  }

  auto attributes() {
    std::vector<std::pair<unsigned, std::vector<std::uint8_t>>> out;
    each_attribute<rtmsg>(header(), [&](unsigned type, std::span<const std::uint8_t> value) {
      out.emplace_back(type, std::vector(value.begin(), value.end()));
    });
    return out;
  }

 private:
  alignas(nlmsghdr) std::uint8_t bytes_[256] = {};
};

TEST(NetlinkAttributes, AreVisitedInOrder) {
  Message message;
  EXPECT_THAT(message.attributes(), IsEmpty());
  message.add(RTA_DST, {10, 9, 0, 2});
  message.add(RTA_OIF, {1});  // padded to four bytes
  message.add(RTA_GATEWAY, {});
  EXPECT_THAT(message.attributes(), ElementsAre(Pair(RTA_DST, ElementsAre(10, 9, 0, 2)),
                                                Pair(RTA_OIF, ElementsAre(1)), Pair(RTA_GATEWAY, IsEmpty())));
}

TEST(NetlinkAttributes, MayEndWithoutPadding) {
  Message message;
  message.add(RTA_OIF, {7});
  message.header().nlmsg_len -= 3;
  EXPECT_THAT(message.attributes(), ElementsAre(Pair(RTA_OIF, ElementsAre(7))));
}

TEST(NetlinkAttributes, ThatLieAboutTheirLengthEndTheWalk) {
  for (const std::size_t claimed : {std::size_t{0}, RTA_LENGTH(0) - 1, RTA_LENGTH(5), std::size_t{0xffff}}) {
    Message message;
    message.add(RTA_DST, {1, 2, 3, 4});
    message.add(RTA_OIF, {1, 2, 3, 4}, claimed);
    EXPECT_THAT(message.attributes(), ElementsAre(Pair(RTA_DST, ElementsAre(1, 2, 3, 4)))) << claimed;
  }
}

TEST(NetlinkAttributes, OfAMessageThatIsTooShortAreNone) {
  Message message;
  message.add(RTA_DST, {1, 2, 3, 4});
  message.header().nlmsg_len = NLMSG_LENGTH(sizeof(rtmsg)) - 1;
  EXPECT_THAT(message.attributes(), IsEmpty());
}

TEST(NetlinkSocket, Opens) {
  EXPECT_TRUE(open_netlink(0));
  EXPECT_TRUE(open_netlink(RTMGRP_NEIGH));
}

}  // namespace
}  // namespace softrnic::net
