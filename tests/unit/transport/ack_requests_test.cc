#include "transport/ib/ack_requests.h"

#include <gtest/gtest.h>

namespace softrnic::ib {
namespace {

constexpr std::uint32_t kWindow = 64 * 1024;
constexpr std::uint32_t kEndless = 1U << 30;

PathWindow::Limits window_limits() {
  PathWindow::Limits l;
  l.initial_bytes = l.maximum_bytes = kWindow;
  return l;
}

class AckRequestsTest : public ::testing::Test {
 protected:
  /// A packet of 1000 bytes leaves, of a message that has `rest` more.
  bool send(std::uint32_t rest) {
    window.sent(1000);
    charged += 1000;
    return requests.sent({1000, rest, charged}, &window);
  }
  void acknowledge_all() {
    window.acknowledged(charged);
    charged = 0;
  }

  AckRequests requests;
  PathWindow window{window_limits()};
  std::uint32_t charged = 0;
};

TEST_F(AckRequestsTest, TheLastPacketOfARequestDoesAlways) {
  EXPECT_FALSE(send(kEndless));
  EXPECT_TRUE(send(0));
  EXPECT_TRUE(requests.sent({1000, 0, 1000}, nullptr)) << "without a window, too";
}

TEST_F(AckRequestsTest, HalfAWindowDoesWhileTheOtherHalfIsSent) {
  int packets = 1;
  while (!send(kEndless)) ++packets;
  EXPECT_EQ(packets, 33);  // 32,768 bytes
  for (packets = 1; !send(kEndless);) {
    ++packets;
    if (charged > kWindow / 2 + 1000) acknowledge_all();
  }
  EXPECT_EQ(packets, 33) << "it counts from the last one on";
}

TEST_F(AckRequestsTest, NearTheEndOfAMessageTheEndServesForBoth) {
  for (int i = 0; i < 50; ++i) EXPECT_FALSE(send(kWindow / 8)) << i;
}

TEST_F(AckRequestsTest, WhoeverFillsTheWindowNeedsAnAckThatOpensIt) {
  bool asked = false;
  while (window.has_much_room()) {
    EXPECT_FALSE(asked);
    asked = send(1);
  }
  EXPECT_TRUE(asked) << "none is to come";
  EXPECT_FALSE(send(1)) << "now one is";
}

TEST_F(AckRequestsTest, AtLatestThe64thPacketDoes) {
  for (int round = 0; round < 3; ++round) {
    for (int i = 1; i < AckRequests::kPackets; ++i)
      ASSERT_FALSE(requests.sent({10, kEndless, 10}, nullptr)) << i;
    EXPECT_TRUE(requests.sent({10, kEndless, 10}, nullptr));
  }
}

TEST_F(AckRequestsTest, ARequestForAnotherReasonCounts) {
  for (int i = 1; i < AckRequests::kPackets; ++i) requests.sent({10, kEndless, 10}, nullptr);
  requests.requested();
  EXPECT_FALSE(requests.sent({10, kEndless, 10}, nullptr));
}

}  // namespace
}  // namespace softrnic::ib
