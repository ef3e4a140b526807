// Devices: list, open, import, queries.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "tests/abi/verbs_fixture.h"

extern "C" int ibv_query_gid_type(ibv_context* context, uint8_t port, unsigned index, int* type);

namespace softrnic::abi_test {
namespace {

TEST(DeviceList, HoldsNamedDevicesAndMayBeFreed) {
  int count = 0;
  ibv_device** list = ibv_get_device_list(&count);
  ASSERT_NE(list, nullptr);
  ASSERT_EQ(count, 1);
  EXPECT_EQ(list[1], nullptr);
  ibv_device* const device = list[0];
  EXPECT_STREQ(ibv_get_device_name(device), "soft0");
  EXPECT_STREQ(device->name, "soft0");
  EXPECT_NE(device->dev_name[0], 0);
  EXPECT_NE(device->ibdev_path[0], 0);
  EXPECT_EQ(device->node_type, IBV_NODE_CA);
  EXPECT_EQ(device->transport_type, IBV_TRANSPORT_IB);
  EXPECT_NE(ibv_get_device_guid(device), 0U);
  EXPECT_GE(ibv_get_device_index(device), 0);
  std::free(list);  // what qperf does
  EXPECT_STREQ(ibv_get_device_name(device), "soft0");
  list = ibv_get_device_list(nullptr);
  ASSERT_NE(list, nullptr);
  EXPECT_EQ(list[0], device);
  ibv_free_device_list(list);
}

TEST(DeviceList, ShowsProvidersAPointerThatIsNotTheirs) {
  ibv_device** list = ibv_get_device_list(nullptr);
  ASSERT_NE(list, nullptr);
  void* operations = nullptr;
  std::memcpy(&operations, reinterpret_cast<char*>(list[0]) + sizeof(ibv_device), sizeof operations);
  EXPECT_NE(operations, nullptr);
  ibv_free_device_list(list);
}

using DeviceTest = VerbsTest;

TEST_F(DeviceTest, ContextHasTheExtendedLayout) {
  EXPECT_EQ(context->abi_compat, reinterpret_cast<void*>(UINTPTR_MAX));
  ASSERT_NE(verbs_get_ctx(context.get()), nullptr);
  EXPECT_EQ(verbs_get_ctx(context.get())->sz, 696U) << "of the newest release, see newer_layout_test.cc";
  EXPECT_GE(context->cmd_fd, 0);
  EXPECT_GE(context->async_fd, 0);
  EXPECT_GE(context->num_comp_vectors, 1);
}

TEST_F(DeviceTest, AttributesAreThoseOfAnAdapter) {
  ibv_device_attr attributes{};
  ASSERT_EQ(ibv_query_device(context.get(), &attributes), 0);
  EXPECT_EQ(attributes.phys_port_cnt, 1);
  EXPECT_NE(attributes.node_guid, 0U);
  EXPECT_NE(attributes.vendor_id, 0U);
  EXPECT_NE(attributes.fw_ver[0], 0);
  EXPECT_GE(attributes.max_qp, 10'000);
  EXPECT_GE(attributes.max_pkeys, 1);
}

TEST_F(DeviceTest, ExtendedAttributesFitTheCallersSize) {
  ibv_device_attr_ex full{};
  ASSERT_EQ(ibv_query_device_ex(context.get(), nullptr, &full), 0);
  EXPECT_EQ(full.phys_port_cnt_ex, 1U);
  const auto query = verbs_get_ctx(context.get())->query_device_ex;
  struct {
    ibv_device_attr_ex known;
    char newer[32];
  } larger;
  std::memset(&larger, 0xee, sizeof larger);
  ASSERT_EQ(query(context.get(), nullptr, &larger.known, sizeof larger), 0);
  EXPECT_EQ(larger.newer[0], 0);
  EXPECT_EQ(larger.known.orig_attr.max_qp, full.orig_attr.max_qp);
  std::memset(&larger, 0xee, sizeof larger);
  ASSERT_EQ(query(context.get(), nullptr, &larger.known, sizeof(ibv_device_attr)), 0);
  EXPECT_EQ(larger.known.phys_port_cnt_ex, 0xeeeeeeeeU);
  EXPECT_EQ(query(context.get(), nullptr, &larger.known, 16), EINVAL);
  ibv_query_device_ex_input input{};
  input.comp_mask = 1;
  EXPECT_EQ(query(context.get(), &input, &full, sizeof full), EINVAL);
}

TEST_F(DeviceTest, OldPortQueryWritesFortyEightBytes) {
  ibv_port_attr full{};
  ASSERT_EQ(ibv_query_port(context.get(), 1, &full), 0);
  EXPECT_EQ(full.state, IBV_PORT_ACTIVE);
  EXPECT_EQ(full.link_layer, IBV_LINK_LAYER_ETHERNET);
  EXPECT_GE(full.gid_tbl_len, 1);
  alignas(ibv_port_attr) unsigned char bytes[64];
  std::memset(bytes, 0xee, sizeof bytes);
  // The function itself, which a macro of the header hides.
  const auto query = [&](std::uint8_t port) {
    return (ibv_query_port)(context.get(), port, reinterpret_cast<_compat_ibv_port_attr*>(bytes));
  };
  ASSERT_EQ(query(1), 0);
  EXPECT_EQ(std::memcmp(bytes, &full, 48), 0);
  EXPECT_EQ(bytes[48], 0xee);
  EXPECT_EQ(query(2), EINVAL);
  EXPECT_EQ(query(0), EINVAL);
}

TEST_F(DeviceTest, EveryGidBelowTheLengthAnswers) {
  ibv_port_attr port{};
  ASSERT_EQ(___ibv_query_port(context.get(), 1, &port), 0);
  ibv_gid found{};
  int type = -1;
  for (int i = 0; i < port.gid_tbl_len; ++i) {
    EXPECT_EQ(ibv_query_gid(context.get(), 1, i, &found), 0) << i;
    EXPECT_EQ(ibv_query_gid_type(context.get(), 1, static_cast<unsigned>(i), &type), 0) << i;
  }
  EXPECT_EQ(ibv_query_gid_type(context.get(), 1, 0, &type), 0);
  EXPECT_EQ(type, 1) << "RoCEv2";
  errno = 0;
  EXPECT_EQ(ibv_query_gid(context.get(), 1, port.gid_tbl_len, &found), -1);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(ibv_query_gid(context.get(), 1, -1, &found), -1);
  EXPECT_EQ(ibv_query_gid(context.get(), 2, 0, &found), -1);
  ibv_gid_entry entry{};
  EXPECT_EQ(ibv_query_gid_ex(context.get(), 1, static_cast<unsigned>(port.gid_tbl_len), &entry, 0), EINVAL);
  EXPECT_EQ(ibv_query_gid_ex(context.get(), 1, 0, &entry, 1), EINVAL);
  EXPECT_EQ(ibv_query_gid_ex(context.get(), 1, 0, &entry, 0), 0);
  EXPECT_EQ(entry.gid_type, static_cast<unsigned>(IBV_GID_TYPE_ROCE_V2));
  EXPECT_EQ(std::memcmp(&entry.gid, &gid, sizeof gid), 0);
}

TEST_F(DeviceTest, GidTableGivesTheValidEntries) {
  std::array<ibv_gid_entry, 256> entries{};
  const ssize_t count = ibv_query_gid_table(context.get(), entries.data(), entries.size(), 0);
  ASSERT_GE(count, 1);
  for (ssize_t i = 0; i < count; ++i) {
    ibv_gid_entry one{};
    const ibv_gid_entry& row = entries[static_cast<std::size_t>(i)];
    ASSERT_EQ(ibv_query_gid_ex(context.get(), row.port_num, row.gid_index, &one, 0), 0);
    EXPECT_EQ(std::memcmp(&one, &row, sizeof one), 0);
  }
  EXPECT_EQ(ibv_query_gid_table(context.get(), entries.data(), 0, 0), -EINVAL);
  EXPECT_EQ(ibv_query_gid_table(context.get(), entries.data(), entries.size(), 7), -EINVAL);
  if (count > 1) {
    EXPECT_EQ(ibv_query_gid_table(context.get(), entries.data(), 1, 0), -EINVAL);
  }
  alignas(8) unsigned char wide[64];
  EXPECT_EQ(_ibv_query_gid_ex(context.get(), 1, 0, reinterpret_cast<ibv_gid_entry*>(wide), 0, sizeof wide),
            0);
  EXPECT_EQ(wide[sizeof(ibv_gid_entry)], 0) << "what a newer program knows is zeroed";
}

TEST_F(DeviceTest, PkeyTableHoldsTheDefaultPartition) {
  __be16 pkey = 0;
  ASSERT_EQ(ibv_query_pkey(context.get(), 1, 0, &pkey), 0);
  EXPECT_EQ(pkey, 0xffff);
  EXPECT_EQ(ibv_get_pkey_index(context.get(), 1, pkey), 0);
  EXPECT_EQ(ibv_get_pkey_index(context.get(), 1, 0x1234), -1);
  EXPECT_EQ(ibv_query_pkey(context.get(), 1, 10'000, &pkey), -1);
}

TEST_F(DeviceTest, ImportFindsTheContextByADuplicateOfItsFd) {
  const int duplicate = dup(context->cmd_fd);
  ContextPtr imported(ibv_import_device(duplicate));
  ASSERT_NE(imported, nullptr);
  EXPECT_EQ(imported->cmd_fd, duplicate);
  EXPECT_EQ(imported->device, context->device);
  alignas(64) char buffer[256];
  MrPtr mr = make_mr(buffer, sizeof buffer, IBV_ACCESS_LOCAL_WRITE);
  ASSERT_NE(mr, nullptr);
  ibv_pd* const shared = ibv_import_pd(imported.get(), pd->handle);
  ASSERT_NE(shared, nullptr);
  EXPECT_EQ(shared->context, imported.get());
  ibv_mr* const same = ibv_import_mr(shared, mr->handle);
  ASSERT_NE(same, nullptr);
  EXPECT_EQ(same->lkey, mr->lkey);
  EXPECT_EQ(ibv_rereg_mr(same, IBV_REREG_MR_CHANGE_ACCESS, nullptr, nullptr, 0, 0), IBV_REREG_MR_ERR_INPUT);
  EXPECT_EQ(ibv_import_mr(shared, 0x7fffffff), nullptr);
  EXPECT_EQ(ibv_import_pd(imported.get(), 0x7fffffff), nullptr);
  ibv_unimport_mr(same);
  ibv_unimport_pd(shared);
}

TEST(Import, OfSomethingElseFails) {
  errno = 0;
  EXPECT_EQ(ibv_import_device(-1), nullptr);
  EXPECT_EQ(errno, EINVAL);
  const int other = open("/dev/null", O_RDONLY | O_CLOEXEC);
  EXPECT_EQ(ibv_import_device(other), nullptr);
  close(other);
}

TEST(NullArguments, AreRefused) {
  errno = 0;
  EXPECT_EQ(ibv_open_device(nullptr), nullptr);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(ibv_alloc_pd(nullptr), nullptr);
  EXPECT_EQ(ibv_dealloc_pd(nullptr), EINVAL);
  EXPECT_EQ(ibv_close_device(nullptr), EINVAL);
  EXPECT_EQ(ibv_create_cq(nullptr, 1, nullptr, nullptr, 0), nullptr);
  EXPECT_EQ(ibv_create_comp_channel(nullptr), nullptr);
  EXPECT_EQ(ibv_create_qp(nullptr, nullptr), nullptr);
  EXPECT_EQ(ibv_destroy_qp(nullptr), EINVAL);
  EXPECT_EQ(ibv_destroy_cq(nullptr), EINVAL);
  EXPECT_EQ(ibv_destroy_ah(nullptr), EINVAL);
  EXPECT_EQ(ibv_modify_qp(nullptr, nullptr, 0), EINVAL);
  EXPECT_EQ(ibv_dereg_mr(nullptr), EINVAL);
  EXPECT_EQ(ibv_get_device_name(nullptr), nullptr);
}

}  // namespace
}  // namespace softrnic::abi_test
