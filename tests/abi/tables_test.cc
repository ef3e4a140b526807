// The calls that answer from a table: texts, rates, conversions, fork, private stubs and old versions.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <infiniband/sa.h>
#include <infiniband/verbs.h>
#include <rdma/ib_user_sa.h>
#include <rdma/ib_user_verbs.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <string>

extern "C" {
const char* ibv_get_sysfs_path(void);
int ibv_read_sysfs_file(const char* directory, const char* file, char* buffer, size_t size);
void ibv_copy_ah_attr_from_kern(ibv_ah_attr* to, ib_uverbs_ah_attr* from);
void ibv_copy_qp_attr_from_kern(ibv_qp_attr* to, ib_uverbs_qp_attr* from);
void ibv_copy_path_rec_from_kern(ibv_sa_path_rec* to, ib_user_path_rec* from);
void ibv_copy_path_rec_to_kern(ib_user_path_rec* to, ibv_sa_path_rec* from);
int ibv_dontfork_range(void* base, size_t size);
int ibv_dofork_range(void* base, size_t size);
}

namespace {

TEST(Texts, AreThoseThatProgramsPrint) {
  EXPECT_STREQ(ibv_wc_status_str(IBV_WC_SUCCESS), "success");
  EXPECT_STREQ(ibv_wc_status_str(IBV_WC_WR_FLUSH_ERR), "Work Request Flushed Error");
  EXPECT_STREQ(ibv_wc_status_str(IBV_WC_RNR_RETRY_EXC_ERR), "RNR retry counter exceeded");
  EXPECT_STREQ(ibv_wc_status_str(IBV_WC_TM_RNDV_INCOMPLETE), "TM software rendezvous");
  EXPECT_STREQ(ibv_event_type_str(IBV_EVENT_QP_LAST_WQE_REACHED), "last WQE reached");
  EXPECT_STREQ(ibv_event_type_str(IBV_EVENT_GID_CHANGE), "GID table change");
  EXPECT_STREQ(ibv_node_type_str(IBV_NODE_CA), "InfiniBand channel adapter");
  EXPECT_STREQ(ibv_node_type_str(IBV_NODE_UNSPECIFIED), "unspecified");
  EXPECT_STREQ(ibv_port_state_str(IBV_PORT_ACTIVE), "active");
}

// C programs pass any number.
const char* text(const char* function, int value) {
  auto* get = reinterpret_cast<const char* (*)(int)>(dlsym(RTLD_DEFAULT, function));
  return get(value);
}

TEST(Texts, OfUnknownValuesAreUnknown) {
  for (const char* function :
       {"ibv_wc_status_str", "ibv_event_type_str", "ibv_node_type_str", "ibv_port_state_str"}) {
    EXPECT_STREQ(text(function, 9999), "unknown") << function;
    EXPECT_STREQ(text(function, -1), "unknown") << function;
  }
  EXPECT_STREQ(text("ibv_node_type_str", 0), "unknown");
}

// In the node of each release of the provider interface, as the providers of all releases are served.
TEST(Texts, OfOpcodesInEveryNode) {
  for (const char* node : {"IBVERBS_PRIVATE_34", "IBVERBS_PRIVATE_57", "IBVERBS_PRIVATE_59",
                           "IBVERBS_PRIVATE_64", "IBVERBS_PRIVATE_65"}) {
    auto* get = reinterpret_cast<const char* (*)(int)>(dlvsym(RTLD_DEFAULT, "ibv_wr_opcode_str", node));
    ASSERT_NE(get, nullptr) << node;
    EXPECT_STREQ(get(IBV_WR_SEND), "send");
    EXPECT_STREQ(get(IBV_WR_TSO), "tso");
    EXPECT_STREQ(get(12), "unknown");
    EXPECT_STREQ(get(14), "flush");  // IBV_WR_FLUSH, ATOMIC_WRITE: not in the headers of rdma-core 39
    EXPECT_STREQ(get(15), "atomic-write");
    EXPECT_STREQ(get(-1), "unknown");
    EXPECT_STREQ(get(16), "unknown");
  }
}

TEST(Rates, ConvertBothWays) {
  EXPECT_EQ(ibv_rate_to_mult(IBV_RATE_10_GBPS), 4);
  EXPECT_EQ(ibv_rate_to_mult(IBV_RATE_MAX), -1);
  EXPECT_EQ(ibv_rate_to_mult(IBV_RATE_14_GBPS), -1);
  EXPECT_EQ(mult_to_ibv_rate(48), IBV_RATE_120_GBPS);
  EXPECT_EQ(mult_to_ibv_rate(0), IBV_RATE_MAX);
  EXPECT_EQ(mult_to_ibv_rate(3), IBV_RATE_MAX);
  EXPECT_EQ(ibv_rate_to_mbps(IBV_RATE_100_GBPS), 103125);
  EXPECT_EQ(ibv_rate_to_mbps(IBV_RATE_MAX), -1);
  EXPECT_EQ(mbps_to_ibv_rate(25781), IBV_RATE_25_GBPS);
  EXPECT_EQ(mbps_to_ibv_rate(1), IBV_RATE_MAX);
}

TEST(Fork, NeedsNothing) {
  char page[64];
  EXPECT_EQ(ibv_fork_init(), 0);
  EXPECT_EQ(ibv_is_fork_initialized(), IBV_FORK_UNNEEDED);
  EXPECT_EQ(ibv_dontfork_range(page, sizeof page), 0);
  EXPECT_EQ(ibv_dofork_range(page, sizeof page), 0);
}

TEST(Sysfs, FilesLoseTheirNewlineAndEndWithNul) {
  const std::string folder = testing::TempDir();
  std::ofstream(folder + "/softrnic_sysfs") << "value\n";
  char buffer[16];
  std::memset(buffer, 'x', sizeof buffer);
  EXPECT_EQ(ibv_read_sysfs_file(folder.c_str(), "softrnic_sysfs", buffer, sizeof buffer), 5);
  EXPECT_STREQ(buffer, "value");
  EXPECT_EQ(ibv_read_sysfs_file(folder.c_str(), "softrnic_sysfs", buffer, 6), 5);
  EXPECT_EQ(ibv_read_sysfs_file(folder.c_str(), "softrnic_sysfs", buffer, 5), -1) << "no room for the NUL";
  EXPECT_EQ(ibv_read_sysfs_file(folder.c_str(), "softrnic_no_such_file", buffer, sizeof buffer), -1);
  EXPECT_STREQ(ibv_get_sysfs_path(), "/sys");
}

TEST(Marshall, PathRecordsGoThereAndBack) {
  ib_user_path_rec kernel;
  std::memset(&kernel, 0, sizeof kernel);
  for (std::size_t i = 0; i < sizeof kernel.dgid; ++i) {
    kernel.dgid[i] = static_cast<__u8>(i);
    kernel.sgid[i] = static_cast<__u8>(0x80 + i);
  }
  kernel.pkey = 0xffff;
  kernel.mtu = 5;
  kernel.packet_life_time = 18;
  kernel.numb_path = 1;
  kernel.reversible = 1;
  ibv_sa_path_rec record{};
  ibv_copy_path_rec_from_kern(&record, &kernel);
  EXPECT_EQ(record.sgid.raw[15], 0x8f);
  EXPECT_EQ(record.pkey, 0xffff);
  EXPECT_EQ(record.mtu, 5);
  ib_user_path_rec again;
  std::memset(&again, 0, sizeof again);
  ibv_copy_path_rec_to_kern(&again, &record);
  EXPECT_EQ(std::memcmp(again.dgid, kernel.dgid, sizeof kernel.dgid), 0);
  EXPECT_EQ(again.packet_life_time, 18);
}

TEST(Marshall, QpAttributesKeepTheStateOfTheTarget) {
  ib_uverbs_qp_attr kernel{};
  kernel.qp_state = 5;
  kernel.dest_qp_num = 0x123456;
  kernel.ah_attr.grh.sgid_index = 3;
  kernel.timeout = 14;
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_RTR;
  ibv_copy_qp_attr_from_kern(&attributes, &kernel);
  EXPECT_EQ(attributes.qp_state, IBV_QPS_RTR);
  EXPECT_EQ(attributes.dest_qp_num, 0x123456U);
  EXPECT_EQ(attributes.ah_attr.grh.sgid_index, 3);
  EXPECT_EQ(attributes.timeout, 14);
}

template <typename Function>
Function* symbol(const char* name, const char* version) {
  return reinterpret_cast<Function*>(dlvsym(RTLD_DEFAULT, name, version));
}

TEST(PrivateStubs, Fail) {
  auto* execute = symbol<int(void*, void*)>("execute_ioctl", "IBVERBS_PRIVATE_34");
  auto* alloc = symbol<void*(void*, int, size_t, void*, unsigned)>("_verbs_init_and_alloc_context",
                                                                   "IBVERBS_PRIVATE_34");
  auto* poll = symbol<int(void*, int, void*)>("ibv_cmd_poll_cq", "IBVERBS_PRIVATE_34");
  ASSERT_TRUE(execute != nullptr && alloc != nullptr && poll != nullptr);
  EXPECT_EQ(execute(nullptr, nullptr), EOPNOTSUPP);
  EXPECT_LT(poll(nullptr, 0, nullptr), 0);
  errno = 0;
  EXPECT_EQ(alloc(nullptr, -1, 0, nullptr, 0), nullptr);
  EXPECT_EQ(errno, EOPNOTSUPP);
}

TEST(OldVersions, ExistAndFailCleanly) {
  auto* list = symbol<void*(int*)>("ibv_get_device_list", "IBVERBS_1.0");
  auto* destroy = symbol<int(void*)>("ibv_destroy_qp", "IBVERBS_1.0");
  ASSERT_TRUE(list != nullptr && destroy != nullptr);
  int count = 7;
  errno = 0;
  EXPECT_EQ(list(&count), nullptr);
  EXPECT_EQ(count, 0);
  EXPECT_EQ(errno, EOPNOTSUPP);
  EXPECT_EQ(destroy(nullptr), EOPNOTSUPP);
}

TEST(OldVersions, AreNotTheDefault) {
  EXPECT_NE(symbol<void>("ibv_reg_mr", "IBVERBS_1.0"), symbol<void>("ibv_reg_mr", "IBVERBS_1.1"));
  EXPECT_EQ(dlsym(RTLD_DEFAULT, "ibv_reg_mr"), dlvsym(RTLD_DEFAULT, "ibv_reg_mr", "IBVERBS_1.1"));
}

}  // namespace
