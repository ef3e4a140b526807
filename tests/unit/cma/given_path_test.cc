// RDMA_OPTION_IB_PATH.
#include <infiniband/sa.h>

#include <cstring>

#include "tests/unit/cma/network.h"

namespace softrnic::cma {
namespace {

constexpr std::uint32_t kWhole = IBV_PATH_FLAG_GMP | IBV_PATH_FLAG_PRIMARY | IBV_PATH_FLAG_BIDIRECTIONAL;

ibv_path_data path_data(std::uint32_t flags) {
  ibv_path_data data{};
  data.flags = flags;
  const wire::Gid from = address("10.0.0.2").host, to = address("10.0.0.1").host;
  std::memcpy(&data.path.sgid, from.raw.data(), sizeof data.path.sgid);
  std::memcpy(&data.path.dgid, to.raw.data(), sizeof data.path.dgid);
  data.path.flowlabel_hoplimit = htonl(0x12345U << 8 | 7);
  data.path.tclass = 0x40;
  data.path.pkey = htons(0xffff);
  data.path.qosclass_sl = htons(0x15);
  data.path.mtu = 2 << 6 | IBV_MTU_512;
  data.path.rate = 2 << 6 | IBV_RATE_10_GBPS;
  data.path.packetlifetime = 2 << 6 | 14;
  return data;
}

class GivenPaths : public TwoNodes {
 protected:
  void SetUp() override {
    server.listener(address("0.0.0.0", 7174));
    id = client.make_id();
    ASSERT_TRUE(client.manager.resolve_address(id, {}, address("10.0.0.1", 7174), std::chrono::seconds(2)));
    client.expect(RDMA_CM_EVENT_ADDR_RESOLVED);
  }
  /// The errno, 0 when it was taken.
  int set(const std::vector<ibv_path_data>& records, std::size_t cut = 0) {
    const auto* bytes = reinterpret_cast<const std::byte*>(records.data());
    const auto set = client.manager.set_option(id, RDMA_OPTION_IB, RDMA_OPTION_IB_PATH,
                                               {bytes, records.size() * sizeof(ibv_path_data) - cut});
    return set ? 0 : set.error().error;
  }

  IdNumber id = 0;
};

TEST_F(GivenPaths, TakeThePlaceOfTheRoute) {
  ibv_path_data other = path_data(IBV_PATH_FLAG_GMP);
  other.path.tclass = 0x20;
  ASSERT_EQ(set({other, path_data(kWhole)}), 0);
  client.expect(RDMA_CM_EVENT_ROUTE_RESOLVED);
  const IdView view = *client.manager.view(id);
  ASSERT_TRUE(view.has_path);
  EXPECT_EQ(view.path.mtu, IBV_MTU_512);
  EXPECT_EQ(view.path.rate, IBV_RATE_10_GBPS);
  EXPECT_EQ(view.path.flow_label, 0x12345U);
  EXPECT_EQ(view.path.hop_limit, 7);
  EXPECT_EQ(view.path.traffic_class, 0x40);
  EXPECT_EQ(view.path.sl, 5);
  EXPECT_EQ(view.packet_life_time, 14);
  ASSERT_TRUE(client.manager.connect(id, {.qpn = 0x222}, {}));
  network.deliver();
  const Event asked = server.expect(RDMA_CM_EVENT_CONNECT_REQUEST);
  EXPECT_EQ(server.manager.view(asked.id)->path.mtu, IBV_MTU_512);
  EXPECT_EQ(server.manager.view(asked.id)->path.traffic_class, 0x40);
}

TEST_F(GivenPaths, HaveToBeWholeAndOfThisRoute) {
  EXPECT_EQ(set({}), EINVAL);
  EXPECT_EQ(set({path_data(IBV_PATH_FLAG_GMP)}), EINVAL);
  EXPECT_EQ(set({path_data(kWhole)}, 1), EINVAL);
  ibv_path_data elsewhere = path_data(kWhole), wide = elsewhere, unknown = elsewhere, foreign = elsewhere;
  elsewhere.path.dgid.raw[15] ^= 1;
  EXPECT_EQ(set({elsewhere}), EINVAL);
  wide.path.mtu = IBV_MTU_2048;
  EXPECT_EQ(set({wide}), EINVAL);
  unknown.path.mtu = 0;
  EXPECT_EQ(set({unknown}), EINVAL);
  foreign.path.pkey = htons(0x8001);
  EXPECT_EQ(set({foreign}), EINVAL);
  EXPECT_EQ(client.manager.view(id)->state, State::address_resolved);
}

TEST_F(GivenPaths, NeedAResolvedAddress) {
  ASSERT_EQ(set({path_data(kWhole)}), 0);
  EXPECT_EQ(set({path_data(kWhole)}), EINVAL);
  id = client.make_id();
  EXPECT_EQ(set({path_data(kWhole)}), EINVAL);
}

}  // namespace
}  // namespace softrnic::cma
