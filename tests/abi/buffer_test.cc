// Registration by a structure, buffers of the adapter's choice, and the speed of a port.
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "tests/abi/newer_verbs.h"

namespace softrnic::abi_test {
namespace {

using abi::MrInitAttr;

class BufferTest : public VerbsTest {
 protected:
  MrInitAttr wanted(std::uint64_t mask) {
    MrInitAttr attributes{};
    attributes.length = sizeof bytes;
    attributes.access = kRemoteReadWrite;
    attributes.comp_mask = mask;
    attributes.iova = kIova;
    attributes.addr = bytes;
    attributes.fd = -1;
    attributes.buf = reinterpret_cast<abi::Buf*>(std::uintptr_t{8});  // to be looked at if the mask says so
    return attributes;
  }
  int refusal(MrInitAttr attributes) {
    return error_of([&] { return reg_mr_ex(pd.get(), &attributes); });
  }
  int refusal(std::uint64_t mask) { return refusal(wanted(mask)); }

  static constexpr std::uint64_t kIova = 0x20000;
  alignas(64) char bytes[4096] = {};
};

TEST_F(BufferTest, AnAddressIsEnough) {
  MrInitAttr attributes = wanted(abi::kMrAddr);
  const MrPtr mr(reg_mr_ex(pd.get(), &attributes));
  ASSERT_NE(mr, nullptr);
  EXPECT_EQ(mr->addr, bytes);
  EXPECT_EQ(mr->length, sizeof bytes);
  EXPECT_EQ(mr->pd, pd.get());
  EXPECT_EQ(mr->context, context.get());
  expect_reached(mr.get(), reinterpret_cast<std::uintptr_t>(bytes) + 100, bytes + 100);
}

TEST_F(BufferTest, AnIovaNamesItForPeers) {
  MrInitAttr attributes = wanted(abi::kMrAddr | abi::kMrIova);
  const MrPtr mr(reg_mr_ex(pd.get(), &attributes));
  ASSERT_NE(mr, nullptr);
  EXPECT_EQ(mr->addr, bytes);
  expect_reached(mr.get(), kIova + 7, bytes + 7);
}

TEST_F(BufferTest, FieldsThatDoNotGoTogetherAreRefused) {
  using enum abi::MrFields;
  for (const std::uint64_t mask :
       {std::uint64_t{0}, std::uint64_t{kMrIova}, kMrAddr | kMrFdOffset, std::uint64_t{kMrFdOffset},
        std::uint64_t{kMrFd}, kMrFd | kMrFdOffset, kMrFd | kMrIova, kMrFd | kMrFdOffset | kMrIova | kMrAddr})
    EXPECT_EQ(refusal(mask), EINVAL) << mask;
  for (const std::uint64_t mask : {kMrAddr | kMrDmah, kMrAddr | std::uint64_t{1} << 40, kMrFd | kMrDmah})
    EXPECT_EQ(refusal(mask), EOPNOTSUPP) << mask;
  EXPECT_EQ(refusal(kMrFd | kMrFdOffset | kMrIova), EBADF) << "as ibv_reg_dmabuf_mr, of descriptor -1";
}

TEST_F(BufferTest, WhatIbvRegMrRefusesIsRefused) {
  MrInitAttr attributes = wanted(abi::kMrAddr);
  attributes.access = IBV_ACCESS_REMOTE_WRITE;
  EXPECT_EQ(refusal(attributes), EINVAL);
  attributes = wanted(abi::kMrAddr);
  attributes.addr = nullptr;
  EXPECT_EQ(refusal(attributes), EFAULT);
  EXPECT_EQ(error_of([&] { return reg_mr_ex(pd.get(), nullptr); }), EINVAL);
  EXPECT_EQ(error_of([&] { return reg_mr_ex(nullptr, &attributes); }), EINVAL);
}

TEST_F(BufferTest, ABufferIsPageAlignedAndCanBeRegistered) {
  abi::Buf* buffer = nullptr;
  auto* const memory = static_cast<char*>(alloc_buf(pd.get(), 10000, &buffer));
  ASSERT_NE(memory, nullptr);
  ASSERT_NE(buffer, nullptr);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory) % static_cast<std::uintptr_t>(getpagesize()), 0U);
  std::memset(memory, 0, 10000);
  {
    const MrPtr mr(reg_buf_mr(pd.get(), buffer, memory + 100, 9900, kRemoteReadWrite));
    ASSERT_NE(mr, nullptr);
    EXPECT_EQ(mr->addr, memory + 100);
    EXPECT_EQ(mr->length, 9900U);
    expect_reached(mr.get(), reinterpret_cast<std::uintptr_t>(memory) + 9000, memory + 9000);
  }
  MrInitAttr attributes = wanted(abi::kMrBuf | abi::kMrAddr | abi::kMrIova);
  attributes.buf = buffer;
  attributes.addr = memory;
  {
    const MrPtr mr(reg_mr_ex(pd.get(), &attributes));
    ASSERT_NE(mr, nullptr);
    expect_reached(mr.get(), kIova + 1, memory + 1);
  }
  free_buf(buffer);
}

TEST_F(BufferTest, ABufferIsRegisteredInItsBoundsAndItsDomain) {
  abi::Buf* buffer = nullptr;
  auto* const memory = static_cast<char*>(alloc_buf(pd.get(), 4096, &buffer));
  ASSERT_NE(memory, nullptr);
  const auto refused = [&](ibv_pd* domain, void* address, std::size_t length) {
    return error_of([&] { return reg_buf_mr(domain, buffer, address, length, kRemoteReadWrite); });
  };
  EXPECT_EQ(refused(pd.get(), memory, 4097), EINVAL);
  EXPECT_EQ(refused(pd.get(), memory + 1, 4096), EINVAL);
  EXPECT_EQ(refused(pd.get(), memory - 1, 10), EINVAL);
  EXPECT_EQ(refused(pd.get(), memory + 4097, 0), EINVAL);
  EXPECT_EQ(refused(pd.get(), memory + 8, SIZE_MAX), EINVAL);
  const PdPtr other(ibv_alloc_pd(context.get()));
  EXPECT_EQ(refused(other.get(), memory, 4096), EINVAL);
  for (const std::uint64_t with : {abi::kMrFd, abi::kMrFdOffset}) {
    MrInitAttr attributes = wanted(abi::kMrBuf | abi::kMrAddr | with);
    attributes.buf = buffer;
    attributes.addr = memory;
    EXPECT_EQ(refusal(attributes), EINVAL) << with;
  }
  MrInitAttr attributes = wanted(abi::kMrBuf);
  attributes.buf = buffer;
  EXPECT_EQ(refusal(attributes), EINVAL) << "without an address";
  free_buf(buffer);
}

TEST_F(BufferTest, ABufferHasNoDmabuf) {
  abi::Buf* buffer = nullptr;
  ASSERT_NE(alloc_buf(pd.get(), 4096, &buffer), nullptr);
  errno = 0;
  EXPECT_EQ(export_buf_dmabuf_fd(buffer), -1);
  EXPECT_EQ(errno, ENODATA);
  free_buf(buffer);
#ifndef __SANITIZE_ADDRESS__  // which ends the process
  EXPECT_EQ(error_of([&] { return alloc_buf(pd.get(), SIZE_MAX / 2, &buffer); }), ENOMEM);
#endif
  EXPECT_EQ(error_of([&] { return alloc_buf(pd.get(), 4096, nullptr); }), EINVAL);
}

TEST_F(BufferTest, DmaHandlesAndExportsAreNotThere) {
  EXPECT_EQ(error_of([&] { return alloc_dmah(context.get(), nullptr); }), EOPNOTSUPP);
  EXPECT_EQ(dealloc_dmah(nullptr), EOPNOTSUPP);
  errno = 0;
  EXPECT_EQ(dm_export_dmabuf_fd(nullptr), -1);
  EXPECT_EQ(errno, EOPNOTSUPP);
}

using PortSpeedTest = VerbsTest;

// The width and speed of a port are codes that carry at least what the netdev says.
TEST_F(PortSpeedTest, IsInHundredsOfMegabits) {
  std::uint64_t speed = 0;
  ASSERT_EQ(query_port_speed(context.get(), 1, &speed), 0);
  EXPECT_EQ(speed, 1000U) << "the loopback has no wire: 100 Gb/s";
  EXPECT_EQ(query_port_speed(context.get(), 2, &speed), EINVAL);
  EXPECT_EQ(query_port_speed(context.get(), 257, &speed), EINVAL) << "no 8 bits of it";
  EXPECT_EQ(query_port_speed(context.get(), 1, nullptr), EINVAL);
}

TEST_F(PortSpeedTest, LongerPortAttributesHaveTheSpeedOnceMore) {
  ibv_port_attr known{};
  ASSERT_EQ(ibv_query_port(context.get(), 1, &known), 0);
  const auto query = verbs_get_ctx(context.get())->query_port;
  alignas(ibv_port_attr) unsigned char bytes[80];
  for (const std::size_t size : {std::size_t{52}, sizeof(abi::PortAttr), std::size_t{72}}) {
    std::memset(bytes, 0xee, sizeof bytes);
    ASSERT_EQ(query(context.get(), 1, reinterpret_cast<ibv_port_attr*>(bytes), size), 0);
    EXPECT_EQ(std::memcmp(bytes, &known, 50), 0) << size;
    std::uint32_t speed = 0;
    std::memcpy(&speed, bytes + 52, sizeof speed);
    EXPECT_EQ(speed, size == 52 ? 0xeeeeeeeeU : known.active_speed) << size;
    for (std::size_t at = 56; at < size; ++at) EXPECT_EQ(bytes[at], 0) << at;
    for (std::size_t at = size; at < sizeof bytes; ++at) EXPECT_EQ(bytes[at], 0xee) << at;
  }
}

}  // namespace
}  // namespace softrnic::abi_test
