#include "rsocket/destinations.h"

#include <gtest/gtest.h>

// In the place of those of the libraries.
extern "C" int rdma_destroy_id(rdma_cm_id*) { return 0; }
extern "C" int ibv_destroy_ah(ibv_ah*) { return 0; }

namespace softrnic::rsocket {
namespace {

class DestinationsTest : public testing::Test {
 protected:
  static InetAddress address(std::uint32_t number) {
    std::array<std::byte, 4> host;
    store_be32(host.data(), number);
    return InetAddress::ipv4(host.data(), 7174);
  }
  Destination& add(std::uint32_t number) { return destinations.add(address(number), endpoint); }
  void fill(std::uint32_t first, std::size_t count) {
    for (std::uint32_t i = 0; i < count; ++i) add(first + i);
  }

  alignas(
      DatagramEndpoint) std::array<std::byte, sizeof(DatagramEndpoint)> nowhere{};  // only its place counts
  DatagramEndpoint& endpoint = reinterpret_cast<DatagramEndpoint&>(nowhere);
  Destinations destinations;
};

TEST_F(DestinationsTest, AreFoundByHostAndPort) {
  Destination& one = add(1);
  one.qpn = 17;
  EXPECT_EQ(destinations.find(address(1)), &one);
  EXPECT_EQ(destinations.find(address(2)), nullptr);
  InetAddress other_port = address(1);
  other_port.port = 1;
  EXPECT_EQ(destinations.find(other_port), nullptr);
}

TEST_F(DestinationsTest, StrangersDoNotTakeAllMemory) {
  fill(1, Destinations::kMost);
  ASSERT_NE(destinations.find(address(1)), nullptr) << "and it is used";
  fill(100000, Destinations::kMost / 2);
  EXPECT_EQ(destinations.size(), Destinations::kMost);
  EXPECT_NE(destinations.find(address(1)), nullptr);
  EXPECT_EQ(destinations.find(address(2)), nullptr) << "the one not used for longest";
}

TEST_F(DestinationsTest, ThePeerAndThoseBeingResolvedAreKept) {
  add(1).connected = true;
  add(2).resolving.reset(std::make_unique<rdma_cm_id>().release());
  fill(1000, 2 * Destinations::kMost);
  EXPECT_EQ(destinations.size(), Destinations::kMost);
  EXPECT_NE(destinations.find(address(1)), nullptr);
  Destination* const resolving = destinations.find(address(2));
  ASSERT_NE(resolving, nullptr);
  const std::unique_ptr<rdma_cm_id> id(resolving->resolving.release());
}

}  // namespace
}  // namespace softrnic::rsocket
