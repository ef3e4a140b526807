// Functions of libibumad that ask nobody: buffers, lists and texts.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "tests/abi/umad_calls.h"

namespace softrnic::abi_test {
namespace {

std::uint16_t net16(std::uint16_t value) { return __builtin_bswap16(value); }

struct Buffer {
  ib_user_mad head{};
  unsigned char mad[256] = {};
};

TEST(UmadBuffer, LiesAsTheNewAbiHasIt) {
  Buffer buffer;
  EXPECT_EQ(umad_size(), 64U);
  EXPECT_EQ(umad_get_mad(&buffer), buffer.mad);
  EXPECT_EQ(umad_get_mad_addr(&buffer), &buffer.head.addr);
  buffer.head.status = ETIMEDOUT;
  EXPECT_EQ(umad_status(&buffer), ETIMEDOUT);
}

TEST(UmadBuffer, AddressesAreInNetworkOrder) {
  Buffer buffer;
  const ib_mad_addr& address = buffer.head.addr;
  EXPECT_EQ(umad_set_addr(&buffer, 0x1234, 0x56789a, 3, static_cast<int>(0x80010000)), 0);
  EXPECT_EQ(address.lid, net16(0x1234));
  EXPECT_EQ(address.qpn, __builtin_bswap32(0x56789a));
  EXPECT_EQ(address.qkey, __builtin_bswap32(0x80010000));
  EXPECT_EQ(address.sl, 3);
  EXPECT_EQ(umad_set_addr_net(&buffer, 1, 2, 4, 3), 0);
  EXPECT_EQ(address.lid, 1);
  EXPECT_EQ(address.qpn, 2U);
  EXPECT_EQ(address.qkey, 3U);
  EXPECT_EQ(umad_set_pkey(&buffer, 7), 0);
  EXPECT_EQ(umad_get_pkey(&buffer), 7);
}

TEST(UmadBuffer, TheFlowLabelOfAGrhComesInHostOrder) {
  Buffer buffer;
  ib_mad_addr grh{};
  grh.gid[15] = 9;
  grh.gid_index = 5;
  grh.flow_label = 0x12345;
  grh.hop_limit = 64;
  grh.traffic_class = 8;
  EXPECT_EQ(umad_set_grh(&buffer, &grh), 0);
  EXPECT_EQ(buffer.head.addr.grh_present, 1);
  EXPECT_EQ(buffer.head.addr.gid[15], 9);
  EXPECT_EQ(buffer.head.addr.gid_index, 0) << "libibumad leaves it alone";
  EXPECT_EQ(buffer.head.addr.flow_label, __builtin_bswap32(0x12345));
  EXPECT_EQ(buffer.head.addr.hop_limit, 64);
  EXPECT_EQ(buffer.head.addr.traffic_class, 8);
  umad_set_grh(&buffer, nullptr);
  EXPECT_EQ(buffer.head.addr.grh_present, 0);
}

TEST(UmadBuffer, IsDumpedOnStandardError) {
  Buffer buffer;
  umad_set_addr(&buffer, 7, 1, 2, 3);
  buffer.head.agent_id = 4;
  buffer.head.status = 110;
  buffer.head.timeout_ms = 20;
  buffer.head.addr.gid[0] = 0xfe;
  testing::internal::CaptureStderr();
  umad_dump(&buffer);
  const std::string head = "ibwarn: [" + std::to_string(getpid()) + "] ";
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            head + "umad_dump: agent id 4 status 6e timeout 20\n" + head +
                "umad_addr_dump: qpn 1 qkey 0x3 lid 7 sl 2\n"
                "grh_present 0 gid_index 0 hop_limit 0 traffic_class 0 flow_label 0x0 pkey_index 0x0\n"
                "Gid 0xfe000000000000000000000000000000\n");
}

TEST(UmadDebug, NegativeLevelsAsk) {
  EXPECT_EQ(umad_debug(-1), 0);
  EXPECT_EQ(umad_debug(2), 2);
  EXPECT_EQ(umad_debug(-1), 2);
  EXPECT_EQ(umad_debug(0), 0);
}

// ---- lists

TEST(UmadDeviceList, IsSortedByName) {
  umad_device_node nodes[3] = {{&nodes[1], "c"}, {&nodes[2], "a"}, {nullptr, "b"}};
  umad_device_node* head = nodes;
  EXPECT_EQ(umad_sort_ca_device_list(&head, 2), EINVAL);
  EXPECT_EQ(umad_sort_ca_device_list(&head, 4), EINVAL);
  EXPECT_EQ(head, nodes);
  EXPECT_EQ(umad_sort_ca_device_list(&head, 0), 0);
  std::string order;
  for (const umad_device_node* node = head; node != nullptr; node = node->next) order += node->ca_name;
  EXPECT_EQ(order, "abc");
  umad_device_node* none = nullptr;
  EXPECT_EQ(umad_sort_ca_device_list(&none, 0), 0);
}

// ---- texts: those of rdma-core's umad_str.c

TEST(UmadTexts, OfClasses) {
  EXPECT_STREQ(umad_class_str(0x01), "Subn");
  EXPECT_STREQ(umad_class_str(0x81), "Subn");
  EXPECT_STREQ(umad_class_str(0x03), "SubnAdm");
  EXPECT_STREQ(umad_class_str(0x07), "ComMgt");
  EXPECT_STREQ(umad_class_str(0x09), "Vendor");
  EXPECT_STREQ(umad_class_str(0x0f), "Vendor");
  EXPECT_STREQ(umad_class_str(0x10), "DevAdm");
  EXPECT_STREQ(umad_class_str(0x13), "Application");
  EXPECT_STREQ(umad_class_str(0x21), "CongestionManagment");
  EXPECT_STREQ(umad_class_str(0x2f), "Application");
  EXPECT_STREQ(umad_class_str(0x30), "Vendor");
  EXPECT_STREQ(umad_class_str(0x4f), "Vendor");
  EXPECT_STREQ(umad_class_str(0x50), "<unknown>");
  EXPECT_STREQ(umad_class_str(0x00), "<unknown>");
}

TEST(UmadTexts, OfMethods) {
  EXPECT_STREQ(umad_method_str(0x01, 0x01), "Get");
  EXPECT_STREQ(umad_method_str(0x04, 0x81), "GetResp");
  EXPECT_STREQ(umad_method_str(0x04, 0x07), "TrapRepress");
  EXPECT_STREQ(umad_method_str(0x04, 0x12), "<unknown");
  EXPECT_STREQ(umad_method_str(0x03, 0x12), "GetTable");
  EXPECT_STREQ(umad_method_str(0x03, 0x95), "DeleteResp");
  EXPECT_STREQ(umad_method_str(0x03, 0x13), "GetTraceTable");
  EXPECT_STREQ(umad_method_str(0x03, 0x93), "<unknown");
  EXPECT_STREQ(umad_method_str(0x03, 0x02), "Set");
}

TEST(UmadTexts, OfStatus) {
  EXPECT_STREQ(umad_common_mad_status_str(net16(0x0000)), "Success");
  EXPECT_STREQ(umad_common_mad_status_str(net16(0x0001)), "Busy");
  EXPECT_STREQ(umad_common_mad_status_str(net16(0x0002)), "Redirection required");
  EXPECT_STREQ(umad_common_mad_status_str(net16(0x0004)), "Bad Version");
  EXPECT_STREQ(umad_common_mad_status_str(net16(0x000c)), "Method/Attribute combo not supported");
  EXPECT_STREQ(umad_common_mad_status_str(net16(0x001c)), "Invalid attribute/modifier field");
  EXPECT_STREQ(umad_common_mad_status_str(net16(0x0010)), "Success");
  EXPECT_STREQ(umad_sa_mad_status_str(net16(0x0300)), "No Records");
  EXPECT_STREQ(umad_sa_mad_status_str(net16(0x0800)), "Priority Suggested");
  EXPECT_STREQ(umad_sa_mad_status_str(net16(0x0900)), "Undefined Error");
}

TEST(UmadTexts, OfAttributes) {
  EXPECT_STREQ(umad_attribute_str(0x81, net16(0x0011)), "NodeInfo");
  EXPECT_STREQ(umad_attribute_str(0x01, net16(0x0033)), "PortInfoExtended");
  EXPECT_STREQ(umad_attribute_str(0x01, net16(0x0002)), "Notice");
  EXPECT_STREQ(umad_attribute_str(0x03, net16(0x0011)), "NodeRecord");
  EXPECT_STREQ(umad_attribute_str(0x03, net16(0x0035)), "PathRecord");
  EXPECT_STREQ(umad_attribute_str(0x07, net16(0x0018)), "ServiceIDResReqResp");
  EXPECT_STREQ(umad_attribute_str(0x04, net16(0x0001)), "Class Port Info");
  EXPECT_STREQ(umad_attribute_str(0x04, net16(0x0011)), "<unknown>");
}

}  // namespace
}  // namespace softrnic::abi_test
