// What iWARP queue pairs do over TCP: every operation, in sizes around those of segments.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "base/reason_id.h"
#include "tests/unit/engine/stream_fixture.h"

namespace softrnic::engine::test {
namespace {

struct Way {
  const char* name;
  bool crc, markers, threaded;
  int mss;
};
constexpr Way kWays[] = {
    {"Plain", false, false, false, 0},
    {"PlainSmallSegments", false, false, false, 700},
    {"Threads", false, false, true, 0},
    {"Crc", true, false, false, 0},
    {"CrcSmallSegments", true, false, true, 700},
    {"Markers", false, true, false, 1400},
    {"CrcAndMarkers", true, true, false, 0},
};
constexpr std::uint32_t kSizes[] = {0,      1,      3,      513,    4096,      65'482, 65'483,
                                    65'535, 65'536, 65'537, 70'000, 1'000'001, 1 << 20};

class StreamTransfer : public testing::TestWithParam<Way> {
 protected:
  static constexpr std::size_t kFrom = 8;
  static constexpr std::size_t kTo = 2 << 20;

  StreamTransfer() : a(GetParam().threaded, 3), b(GetParam().threaded, 4) {
    TcpPair sockets(0, GetParam().mss);
    const auto start = start_of(GetParam().crc, GetParam().markers);
    at_a = &a.connect(sockets.a, start);
    at_b = &b.connect(sockets.b, start);
  }
  StreamHost::Request to_b(ibv_wr_opcode opcode, std::uint32_t bytes) {
    return {.opcode = opcode, .from = kFrom, .bytes = bytes, .to = b.address(kTo), .rkey = b.mr->key().value};
  }
  /// Both lanes run until the completion is there.
  ibv_wc success(StreamHost& here, StreamHost& there) {
    ibv_wc wc{};
    const TimePoint limit = monotonic_now() + kPatience;
    while (here.cq->poll(1, &wc) == 0 && monotonic_now() < limit) there.let_run();
    EXPECT_NE(wc.qp_num, 0U) << "no completion";
    EXPECT_EQ(wc.status, IBV_WC_SUCCESS) << describe({static_cast<ReasonId>(wc.vendor_err), {}});
    return wc;
  }
  static bool same(const StreamHost& one, std::size_t at, const StreamHost& other, std::size_t there,
                   std::size_t bytes) {
    return std::equal(one.memory.begin() + static_cast<std::ptrdiff_t>(at),
                      one.memory.begin() + static_cast<std::ptrdiff_t>(at + bytes),
                      other.memory.begin() + static_cast<std::ptrdiff_t>(there));
  }

  StreamHost a, b;
  rnic::QueuePair* at_a;
  rnic::QueuePair* at_b;
};

TEST_P(StreamTransfer, Send) {
  for (const std::uint32_t size : kSizes) {
    a.fill(kFrom, size, size);
    b.receive(*at_b, kTo, size);
    a.post(*at_a, to_b(IBV_WR_SEND, size));
    EXPECT_EQ(success(a, b).opcode, IBV_WC_SEND);
    const ibv_wc wc = success(b, a);
    EXPECT_EQ(wc.opcode, IBV_WC_RECV);
    EXPECT_EQ(wc.byte_len, size);
    EXPECT_EQ(wc.qp_num, at_b->qpn().value);
    EXPECT_EQ(wc.wc_flags, 0U);
    EXPECT_TRUE(same(a, kFrom, b, kTo, size)) << size;
  }
}

TEST_P(StreamTransfer, WriteAndWriteWithImmediate) {
  for (const std::uint32_t size : kSizes) {
    a.fill(kFrom, size, size + 1);
    b.receive(*at_b, 0, 0);
    a.post(*at_a, to_b(IBV_WR_RDMA_WRITE, size));
    a.post(*at_a, to_b(IBV_WR_RDMA_WRITE_WITH_IMM, size));
    EXPECT_EQ(success(a, b).opcode, IBV_WC_RDMA_WRITE);
    EXPECT_EQ(success(a, b).opcode, IBV_WC_RDMA_WRITE);
    const ibv_wc wc = success(b, a);
    EXPECT_EQ(wc.opcode, IBV_WC_RECV_RDMA_WITH_IMM);
    EXPECT_EQ(wc.byte_len, size);
    EXPECT_EQ(wc.wc_flags, static_cast<unsigned>(IBV_WC_WITH_IMM));
    EXPECT_EQ(wc.imm_data, htonl(0x1234));
    EXPECT_TRUE(same(a, kFrom, b, kTo, size)) << size;
  }
}

TEST_P(StreamTransfer, Read) {
  for (const std::uint32_t size : kSizes) {
    b.fill(kTo, size, size + 2);
    a.post(*at_a, to_b(IBV_WR_RDMA_READ, size));
    const ibv_wc wc = success(a, b);
    EXPECT_EQ(wc.opcode, IBV_WC_RDMA_READ);
    EXPECT_EQ(wc.byte_len, size);
    EXPECT_TRUE(same(a, kFrom, b, kTo, size)) << size;
  }
}

TEST_P(StreamTransfer, Atomics) {
  auto* const there = reinterpret_cast<std::uint64_t*>(&b.memory[kTo]);
  auto* const here = reinterpret_cast<std::uint64_t*>(&a.memory[kFrom]);
  *there = 40;
  StreamHost::Request request = to_b(IBV_WR_ATOMIC_FETCH_AND_ADD, 8);
  request.compare_add = 2;
  a.post(*at_a, request);
  EXPECT_EQ(success(a, b).opcode, IBV_WC_FETCH_ADD);
  EXPECT_EQ(*here, 40U);
  request.opcode = IBV_WR_ATOMIC_CMP_AND_SWP;
  request.compare_add = 42;
  request.swap = 7;
  a.post(*at_a, request);
  EXPECT_EQ(success(a, b).opcode, IBV_WC_COMP_SWAP);
  EXPECT_EQ(*here, 42U);
  EXPECT_EQ(*there, 7U);
}

TEST_P(StreamTransfer, BothWaysAtOnceKeepTheOrderOfPosts) {
  constexpr std::uint32_t kSize = 100'000;
  constexpr std::uint64_t kCount = 32;
  a.fill(kFrom, kSize, 1);
  b.fill(kFrom, kSize, 2);
  for (std::uint64_t id = 1; id <= kCount; ++id) {
    StreamHost::Request request = to_b(id % 4 == 0 ? IBV_WR_RDMA_READ : IBV_WR_RDMA_WRITE, kSize);
    request.id = id;
    request.from = id % 4 == 0 ? 1 << 20 : kFrom;
    a.post(*at_a, request);
    request.to = a.address(kTo);
    request.rkey = a.mr->key().value;
    b.post(*at_b, request);
  }
  for (std::uint64_t id = 1; id <= kCount; ++id) {
    EXPECT_EQ(success(a, b).wr_id, id);
    EXPECT_EQ(success(b, a).wr_id, id);
  }
  EXPECT_TRUE(same(a, kFrom, b, kTo, kSize));
  EXPECT_TRUE(same(a, kFrom, a, 1 << 20, kSize));
}

// The kernel resets a connection that is closed with bytes unread, and drops what it has not sent.
TEST(Streams, WhatIsCompleteArrivesAlsoWhereThePeerSends) {
  constexpr std::uint32_t kBytes = 200'000;
  StreamHost a(false, 3);
  StreamHost b(false, 4);
  TcpPair sockets(16 * 1024);
  TcpPair::set(sockets.a.get(), SOL_SOCKET, SO_SNDBUF, 4 << 20);
  rnic::QueuePair& at_a = a.connect(sockets.a, start_of(false, false, 21));
  rnic::QueuePair& at_b = b.connect(sockets.b, start_of(false, false, 22));
  b.receive(at_b, 0, kBytes);
  a.fill(0, kBytes, 3);
  a.post(at_a, {.opcode = IBV_WR_SEND, .bytes = kBytes});
  a.success();
  b.post(at_b, {.bytes = 1000, .to = a.address(1 << 20), .rkey = a.mr->key().value});
  a.destroy(at_a);
  EXPECT_EQ(b.success().opcode, IBV_WC_RDMA_WRITE);
  EXPECT_EQ(b.success().byte_len, kBytes);
}

// Whoever else works on the lane meanwhile sets its timer anew.
TEST(Streams, TheEngineThreadIsWokenUntilItKnowsOfTheFirst) {
  StreamHost a(false, 3);
  TcpPair sockets;
  a.connect(sockets.a);
  const auto woken = [&] {
    a.let_run();
    pollfd timer{a.lane.timer_fd(), POLLIN, 0};
    return poll(&timer, 1, 10) > 0;  // rows of the control page come later
  };
  EXPECT_TRUE(woken());
  EXPECT_TRUE(woken());
  EXPECT_GE(a.lane.streams_fd(), 0);
  EXPECT_FALSE(woken());
}

TEST(Streams, ExtensionsArePostedOnlyWhereThePeerHasThem) {
  StreamHost a(false, 3);
  TcpPair sockets;
  auto start = start_of();
  start.agreement.extensions = false;
  rnic::QueuePair& at_a = a.connect(sockets.a, start);
  for (const auto opcode :
       {IBV_WR_RDMA_WRITE_WITH_IMM, IBV_WR_ATOMIC_CMP_AND_SWP, IBV_WR_ATOMIC_FETCH_AND_ADD}) {
    const auto posted = a.try_post(at_a, {.opcode = opcode, .bytes = 8, .to = a.address(0)});
    ASSERT_FALSE(posted);
    EXPECT_EQ(posted.error().error, EOPNOTSUPP);
    EXPECT_EQ(posted.error().reason.id, ReasonId::iwarp_no_extensions);
  }
  EXPECT_EQ(StreamHost::state_of(at_a), IBV_QPS_RTS);
  EXPECT_TRUE(a.try_post(at_a, {.bytes = 8, .to = a.address(0)}));
}

INSTANTIATE_TEST_SUITE_P(Ways, StreamTransfer, testing::ValuesIn(kWays),
                         [](const auto& way) { return std::string(way.param.name); });

}  // namespace
}  // namespace softrnic::engine::test
