// librdmacm: what every call answers without a peer.
#include <infiniband/ib.h>
#include <netdb.h>
#include <rdma/rsocket.h>

#include "tests/abi/cm_fixture.h"
#include "tests/abi/later_calls.h"

namespace softrnic::abi_test {
namespace {

TEST(CmNames, AreThoseOfLibrdmacm) {
  EXPECT_STREQ(rdma_event_str(RDMA_CM_EVENT_ADDR_RESOLVED), "RDMA_CM_EVENT_ADDR_RESOLVED");
  EXPECT_STREQ(rdma_event_str(RDMA_CM_EVENT_TIMEWAIT_EXIT), "RDMA_CM_EVENT_TIMEWAIT_EXIT");
  // As a C program may call it; C++ with older headers has no such enumerators.
  const auto text = reinterpret_cast<const char* (*)(int)>(rdma_event_str);
  EXPECT_STREQ(text(16), "RDMA_CM_EVENT_ADDRINFO_RESOLVED");
  EXPECT_STREQ(text(17), "RDMA_CM_EVENT_ADDRINFO_ERROR");
  for (const int none : {18, 19, 20, -1}) EXPECT_STREQ(text(none), "UNKNOWN EVENT");
}

TEST(Rsockets, FailAndSayNeverSuccess) {
  EXPECT_REFUSED(rsocket(AF_UNIX, SOCK_STREAM, 0), ENOTSUP);
  EXPECT_REFUSED(rsocket(AF_INET, SOCK_STREAM, IPPROTO_UDP), ENOTSUP);
  EXPECT_EQ(rpoll(nullptr, 0, 0), 0);
  EXPECT_REFUSED(rfcntl(3, 1), EBADF);
  EXPECT_REFUSED(rsend(3, "x", 1, 0), EBADF);
  EXPECT_REFUSED(riomap(3, nullptr, 0, 0, 0, 0), EBADF);
  EXPECT_REFUSED(rclose(3), EBADF);
  epoll_event event{};
  EXPECT_REFUSED(later::repoll_create(1), EINVAL);
  EXPECT_REFUSED(later::repoll_ctl(3, EPOLL_CTL_ADD, 4, &event), EINVAL);
  EXPECT_REFUSED(later::repoll_ctl(-1, EPOLL_CTL_ADD, 4, &event), EBADF);
  EXPECT_REFUSED(later::repoll_wait(3, &event, 1, 0), EINVAL);
}

TEST(CmDevices, AreThoseOfVerbs) {
  int count = -1;
  ibv_context** list = rdma_get_devices(&count);
  ASSERT_NE(list, nullptr);
  ASSERT_EQ(count, 1);
  EXPECT_STREQ(list[0]->device->name, "soft0");
  EXPECT_EQ(list[1], nullptr);
  ibv_context** again = rdma_get_devices(nullptr);
  EXPECT_EQ(again[0], list[0]) << "each is opened once";
  rdma_free_devices(list);
  EXPECT_EQ(ibv_query_gid(again[0], 1, 0, std::make_unique<ibv_gid>().get()), 0);
  rdma_free_devices(again);
}

using CmCalls = CmTest;

TEST_F(CmCalls, NullPointersAreRefused) {
  EXPECT_REFUSED(rdma_create_id(client_channel.get(), nullptr, nullptr, RDMA_PS_TCP), EINVAL);
  EXPECT_REFUSED(rdma_destroy_id(nullptr), EINVAL);
  EXPECT_REFUSED(rdma_ack_cm_event(nullptr), EINVAL);
  EXPECT_REFUSED(rdma_get_cm_event(client_channel.get(), nullptr), EINVAL);
  EXPECT_REFUSED(rdma_getaddrinfo(nullptr, nullptr, nullptr, nullptr), EINVAL);
}

TEST_F(CmCalls, AnIdWithoutADeviceRefuses) {
  const CmIdPtr id = make_id(client_channel.get());
  ibv_qp_init_attr init = qp_init(IBV_QPT_RC);
  rdma_conn_param parameters{};
  EXPECT_REFUSED(rdma_create_qp(id.get(), nullptr, &init), EINVAL);
  EXPECT_REFUSED(rdma_resolve_route(id.get(), 1000), EINVAL);
  EXPECT_REFUSED(rdma_connect(id.get(), &parameters), EINVAL);
  EXPECT_REFUSED(rdma_disconnect(id.get()), EINVAL);
  sockaddr unknown{};
  unknown.sa_family = AF_UNIX;
  EXPECT_REFUSED(rdma_bind_addr(id.get(), &unknown), EINVAL);
}

TEST_F(CmCalls, AnAddressInUseIsRefused) {
  listen("127.0.0.1");
  const CmIdPtr second = make_id(server_channel.get());
  sockaddr_storage address = address_of("127.0.0.1", rdma_get_src_port(listener.get()));
  EXPECT_REFUSED(rdma_bind_addr(second.get(), generic(address)), EADDRINUSE);
}

TEST_F(CmCalls, BindingToAnAddressOfADeviceFillsTheId) {
  const CmIdPtr id = make_id(client_channel.get());
  sockaddr_storage address = address_of("127.0.0.1");
  ASSERT_EQ(rdma_bind_addr(id.get(), generic(address)), 0);
  ASSERT_NE(id->verbs, nullptr);
  ASSERT_NE(id->pd, nullptr);
  EXPECT_EQ(id->port_num, 1);
  constexpr std::uint8_t kOwn[] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127, 0, 0, 1};
  EXPECT_EQ(std::memcmp(id->route.addr.addr.ibaddr.sgid.raw, kOwn, sizeof kOwn), 0);
}

TEST_F(CmCalls, QueuesThatTheProgramLeavesOutAreMade) {
  const CmIdPtr id = make_id(client_channel.get());
  sockaddr_storage address = address_of("127.0.0.1");
  ASSERT_EQ(rdma_bind_addr(id.get(), generic(address)), 0);
  make_qp(id.get());
  EXPECT_NE(id->send_cq, nullptr);
  EXPECT_NE(id->recv_cq_channel, nullptr);
  ibv_qp_init_attr init = qp_init(IBV_QPT_RC);
  EXPECT_REFUSED(rdma_create_qp(id.get(), nullptr, &init), EINVAL);
  rdma_destroy_qp(id.get());
  EXPECT_EQ(id->qp, nullptr);
  EXPECT_EQ(id->send_cq, nullptr);
  EXPECT_EQ(id->send_cq_channel, nullptr);
  init.qp_type = IBV_QPT_XRC_RECV;  // the id is of RC, and so has no XRC domain
  EXPECT_REFUSED(rdma_create_qp(id.get(), nullptr, &init), EINVAL);
}

TEST_F(CmCalls, SharedReceiveQueues) {
  const CmIdPtr id = make_id(client_channel.get());
  sockaddr_storage address = address_of("127.0.0.1");
  ASSERT_EQ(rdma_bind_addr(id.get(), generic(address)), 0);
  ibv_srq_init_attr init{};
  init.attr = {.max_wr = 4, .max_sge = 1, .srq_limit = 0};
  ASSERT_EQ(rdma_create_srq(id.get(), nullptr, &init), 0) << std::strerror(errno);
  EXPECT_NE(id->srq, nullptr);
  rdma_destroy_srq(id.get());
  ibv_srq_init_attr_ex extended{};
  extended.attr = init.attr;
  EXPECT_REFUSED(rdma_create_srq_ex(id.get(), &extended), EINVAL);
  extended.comp_mask = IBV_SRQ_INIT_ATTR_TYPE;
  extended.srq_type = IBV_SRQT_XRC;
  ASSERT_EQ(rdma_create_srq_ex(id.get(), &extended), 0) << std::strerror(errno);
  std::uint32_t number = 0;
  EXPECT_EQ(ibv_get_srq_num(id->srq, &number), 0);
  EXPECT_NE(extended.xrcd, nullptr);
  EXPECT_EQ(extended.cq, id->recv_cq);
  rdma_destroy_srq(id.get());
  EXPECT_EQ(id->recv_cq, nullptr);
}

TEST_F(CmCalls, EceIsForQueuePairsOfTheProgram) {
  const CmIdPtr id = make_id(client_channel.get());
  ibv_ece ece{0x15b3, 1, 0};
  EXPECT_EQ(rdma_set_local_ece(id.get(), &ece), 0);
  ece.vendor_id = 0;
  EXPECT_REFUSED(rdma_set_local_ece(id.get(), &ece), EINVAL);
  EXPECT_EQ(rdma_get_remote_ece(id.get(), &ece), 0);
  EXPECT_EQ(ece.vendor_id, 0U);
}

CmAddressInfoPtr info_of(const char* node, const char* service, const rdma_addrinfo* hints) {
  rdma_addrinfo* info = nullptr;
  EXPECT_EQ(rdma_getaddrinfo(node, service, hints, &info), 0) << std::strerror(errno);
  return CmAddressInfoPtr(info);
}

TEST(CmAddressInfo, OfADestination) {
  rdma_addrinfo hints{};
  hints.ai_port_space = RDMA_PS_UDP;
  const CmAddressInfoPtr info = info_of("127.0.0.1", "7471", &hints);
  ASSERT_NE(info, nullptr);
  EXPECT_EQ(info->ai_qp_type, IBV_QPT_UD);
  EXPECT_EQ(info->ai_port_space, RDMA_PS_UDP);
  EXPECT_EQ(info->ai_src_len, 0U);
  ASSERT_EQ(info->ai_dst_len, sizeof(sockaddr_in));
  EXPECT_EQ(reinterpret_cast<sockaddr_in*>(info->ai_dst_addr)->sin_port, htons(7471));
}

TEST(CmAddressInfo, OfAListener) {
  rdma_addrinfo hints{};
  hints.ai_flags = RAI_PASSIVE;
  hints.ai_port_space = RDMA_PS_TCP;
  const CmAddressInfoPtr info = info_of(nullptr, "7471", &hints);
  ASSERT_NE(info, nullptr);
  EXPECT_EQ(info->ai_flags, RAI_PASSIVE);
  EXPECT_EQ(info->ai_qp_type, IBV_QPT_RC);
  EXPECT_NE(info->ai_src_len, 0U);
  EXPECT_EQ(info->ai_dst_len, 0U);
}

TEST(CmAddressInfo, OfAGid) {
  rdma_addrinfo hints{};
  hints.ai_flags = RAI_FAMILY | RAI_NUMERICHOST;
  hints.ai_family = AF_IB;
  hints.ai_port_space = RDMA_PS_TCP;
  const CmAddressInfoPtr info = info_of("fe80::1", "7471", &hints);
  ASSERT_NE(info, nullptr);
  ASSERT_EQ(info->ai_family, AF_IB);
  const auto* address = reinterpret_cast<sockaddr_ib*>(info->ai_dst_addr);
  EXPECT_EQ(address->sib_addr.sib_raw[0], 0xfe);
  EXPECT_EQ(be64toh(address->sib_sid), 0x01061d2fU);
}

TEST(CmAddressInfo, ErrorsAreThoseOfGetaddrinfo) {
  rdma_addrinfo hints{}, *info = nullptr;
  hints.ai_flags = RAI_NUMERICHOST;
  EXPECT_EQ(rdma_getaddrinfo("not.an.address", "1", &hints, &info), EAI_NONAME);
}

TEST(CmAddressInfo, ASubnetAdministratorIsNotThere) {
  rdma_addrinfo hints{}, *info = nullptr;
  hints.ai_flags = later::kSa;
  EXPECT_REFUSED(rdma_getaddrinfo(nullptr, "service", &hints, &info), ENOENT);
  EXPECT_REFUSED(rdma_getaddrinfo(nullptr, nullptr, &hints, &info), EINVAL);
  EXPECT_REFUSED(rdma_getaddrinfo("127.0.0.1", "1", &hints, &info), EOPNOTSUPP);
  hints.ai_flags = later::kSa | later::kDns;
  EXPECT_REFUSED(rdma_getaddrinfo(nullptr, "1", &hints, &info), EOPNOTSUPP);
  hints.ai_flags = later::kDns;
  EXPECT_NE(info_of("127.0.0.1", "1", &hints), nullptr);
}

}  // namespace
}  // namespace softrnic::abi_test
