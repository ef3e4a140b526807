#include "link/udp_link.h"

#include <gtest/gtest.h>
#include <net/if.h>
#include <sys/resource.h>

#include <cerrno>
#include <cstdlib>
#include <optional>

#include "base/reason_id.h"
#include "tests/unit/link/link_fixture.h"

namespace softrnic::link::test {
namespace {

/// `a` sends to `b`; both listen on the same port of different addresses, as two hosts would.
struct Pair {
  Pair(const std::string& from, const std::string& to, Family family = Family::dual) {
    std::uint16_t port = 0;
    const int fd_b = bound_socket(to, 0, port, family);
    const int fd_a = from == to ? -1 : bound_socket(from, port, port, family);
    if (fd_b < 0) return;
    b.emplace(UdpLink::Options{fd_b, port, port});
    if (fd_a >= 0) a.emplace(UdpLink::Options{fd_a, port, port});
    sender = fd_a >= 0 ? &*a : &*b;
    maker.path.source = gid_of(from);
    maker.path.destination = gid_of(to);
  }
  std::optional<UdpLink> a, b;
  UdpLink* sender = nullptr;
  PacketMaker maker;
  Collector got;
};

struct Case {
  const char* from;
  const char* to;
  Family family;
};

class UdpLinkPath : public ::testing::TestWithParam<Case> {};

TEST_P(UdpLinkPath, CarriesMessagesOfEveryMtuUnchanged) {
  for (const std::size_t mtu : {256U, 512U, 1024U, 2048U, 4096U}) {
    Pair pair(GetParam().from, GetParam().to, GetParam().family);
    ASSERT_NE(pair.sender, nullptr);
    for (std::uint32_t i = 0; i < 100; ++i) {
      const auto opcode = i == 0 ? wire::Opcode::rc_write_first
                                 : (i == 99 ? wire::Opcode::rc_write_last : wire::Opcode::rc_write_middle);
      const std::size_t bytes = i == 99 ? mtu / 2 + 3 : mtu;
      pair.sender->send(pair.maker.make(opcode, i, pattern(bytes, i), 1 + i % 3), TimePoint{});
    }
    pair.sender->flush(TimePoint{});
    read_until(*pair.b, pair.got, 100);
    ASSERT_EQ(pair.got.count(), 100U) << "MTU " << mtu << ", drops " << pair.got.drops.size();
    std::uint32_t psn = 0;
    for (const Got& packet : pair.got.packets) {
      EXPECT_EQ(packet.headers.bth.psn, psn);
      EXPECT_EQ(packet.source, pair.maker.path.source);
      EXPECT_EQ(packet.destination, pair.maker.path.destination);
      std::vector<std::byte> payload;
      for (std::uint32_t i = 0; i < packet.packets; ++i, ++psn) {
        const auto part = pattern(psn == 99 ? mtu / 2 + 3 : mtu, psn);
        payload.insert(payload.end(), part.begin(), part.end());
      }
      EXPECT_EQ(packet.payload, payload);
    }
    EXPECT_LT(pair.got.packets.size(), 100U) << "those of one datagram come as one";
  }
}

// A packet that stands for several leaves as those.
TEST_P(UdpLinkPath, TakesLongPacketsApart) {
  Pair pair(GetParam().from, GetParam().to, GetParam().family);
  ASSERT_NE(pair.sender, nullptr);
  const auto payload = pattern(10 * 1024 + 77, 5);
  ib::TxPacket whole = pair.maker.make(wire::Opcode::rc_write_only_imm, 0xfffffe, payload, 7);
  whole.packets = 11;
  whole.path_mtu = 1024;
  whole.headers.bth.pad = 3;
  whole.headers.immediate = 4711;
  whole.headers.reth = {0x1000, MemoryKey(5), static_cast<std::uint32_t>(payload.size())};
  pair.sender->send(whole, TimePoint{});
  pair.sender->flush(TimePoint{});
  read_until(*pair.b, pair.got, 11);
  ASSERT_EQ(pair.got.count(), 11U);
  EXPECT_TRUE(pair.got.drops.empty());
  std::vector<std::byte> came;
  for (const Got& packet : pair.got.packets)
    came.insert(came.end(), packet.payload.begin(), packet.payload.end());
  EXPECT_EQ(came, payload);
  EXPECT_EQ(pair.got.packets.front().headers.bth.psn, 0xfffffeU);
  EXPECT_EQ(pair.got.packets.front().headers.reth.address, 0x1000U);
  EXPECT_EQ(pair.got.packets.back().headers.immediate, 4711U);
}

TEST_P(UdpLinkPath, CarriesTrafficClassHopLimitAndSourcePort) {
  Pair pair(GetParam().from, GetParam().to, GetParam().family);
  ASSERT_NE(pair.sender, nullptr);
  pair.maker.path.traffic_class = 0x6a;
  pair.maker.path.hop_limit = 7;
  pair.maker.path.source_port = 0xc123;  // the ICRC covers it: a wrong guess would drop the packet
  for (std::uint32_t i = 0; i < 4; ++i) {
    pair.sender->send(pair.maker.make(wire::Opcode::rc_send_only, i, pattern(i, i)), TimePoint{});
  }
  pair.sender->flush(TimePoint{});
  read_until(*pair.b, pair.got, 4);
  ASSERT_EQ(pair.got.packets.size(), 4U);
  for (const Got& packet : pair.got.packets) {
    EXPECT_EQ(packet.traffic_class, 0x6a);
    EXPECT_EQ(packet.hop_limit, 7);
  }
}

INSTANTIATE_TEST_SUITE_P(Loopback, UdpLinkPath,
                         ::testing::Values(Case{"127.0.0.1", "127.0.0.2", Family::dual},
                                           Case{"127.0.0.1", "127.0.0.2", Family::inet},
                                           Case{"127.0.0.1", "127.0.0.1", Family::dual},
                                           Case{"::1", "::1", Family::dual}));

TEST(UdpLink, MixedSizesAndFlowsKeepTheirOrder) {
  Pair pair("127.0.0.1", "127.0.0.2");
  ASSERT_NE(pair.sender, nullptr);
  for (std::uint32_t i = 0; i < 1000; ++i) {  // more than a batch: send() flushes by itself
    pair.maker.path.traffic_class = static_cast<std::uint8_t>(i % 37 == 0 ? 4 : 0);
    pair.sender->send(pair.maker.make(wire::Opcode::uc_send_only, i, pattern(i * 13 % 1500, i)), TimePoint{});
    if (i % 50 == 49) {
      pair.sender->flush(TimePoint{});
      read_until(*pair.b, pair.got, i + 1);
    }
  }
  ASSERT_EQ(pair.got.packets.size(), 1000U);
  for (std::uint32_t i = 0; i < 1000; ++i) {
    ASSERT_EQ(pair.got.packets[i].headers.bth.psn, i);
    ASSERT_EQ(pair.got.packets[i].payload, pattern(i * 13 % 1500, i));
  }
}

TEST(UdpLink, DropsADamagedPacketAndSaysWhy) {
  Pair pair("127.0.0.1", "127.0.0.2");
  ASSERT_NE(pair.sender, nullptr);
  auto payload = pattern(1024, 1);
  const auto& packet = pair.maker.make(wire::Opcode::rc_send_only, 0, payload);
  pair.sender->send(packet, TimePoint{});
  const_cast<std::byte*>(packet.fragments[0].data)[500] ^= std::byte{0x10};  // after the ICRC was computed
  pair.sender->flush(TimePoint{});
  read_until(*pair.b, pair.got, 1);
  EXPECT_TRUE(pair.got.packets.empty());
  ASSERT_EQ(pair.got.drops.size(), 1U);
  EXPECT_EQ(pair.got.drops[0].first.id, ReasonId::drop_bad_icrc);
}

TEST(UdpLink, TakesACopyOfWhatLiesInNoRegion) {
  Pair pair("127.0.0.1", "127.0.0.2");
  ASSERT_NE(pair.sender, nullptr);
  constexpr std::uint32_t kPackets = 5;
  const auto payload = pattern(kPackets * 1024, 1);
  ib::TxPacket whole = pair.maker.make(wire::Opcode::rc_write_first, 0, payload);
  whole.packets = kPackets;
  whole.path_mtu = 1024;
  whole.fragments[0].key = {};
  pair.sender->send(whole, TimePoint{});
  auto* const changed = const_cast<std::byte*>(whole.fragments[0].data);
  std::fill_n(changed, whole.fragments[0].size, std::byte{0});
  pair.sender->flush(TimePoint{});
  read_until(*pair.b, pair.got, kPackets);
  std::vector<std::byte> got;
  for (const auto& packet : pair.got.packets)
    got.insert(got.end(), packet.payload.begin(), packet.payload.end());
  EXPECT_EQ(got, payload);
}

TEST(UdpLink, DropsWhatIsNoPacket) {
  Pair pair("127.0.0.1", "127.0.0.2");
  ASSERT_NE(pair.sender, nullptr);
  SocketAddress to{};
  socklen_t size = sizeof to;
  ASSERT_EQ(getsockname(pair.b->readable_fd(), &to.generic, &size), 0);
  const int fd = socket(AF_INET6, SOCK_DGRAM, 0);
  for (const std::size_t bytes : {0U, 1U, 15U}) {
    EXPECT_EQ(sendto(fd, "0123456789abcdef", bytes, 0, &to.generic, to.size()), static_cast<ssize_t>(bytes));
  }
  close(fd);
  read_until(*pair.b, pair.got, 3);
  ASSERT_EQ(pair.got.drops.size(), 3U);
  for (const auto& drop : pair.got.drops) EXPECT_EQ(drop.first.id, ReasonId::drop_malformed);
}

TEST(UdpLink, ReportsWhatCannotBeSent) {
  Pair pair("127.0.0.1", "127.0.0.2");
  ASSERT_NE(pair.sender, nullptr);
  pair.maker.path.source = gid_of("203.0.113.7");  // not an address of this host
  for (std::uint32_t i = 0; i < 5; ++i) {
    pair.sender->send(pair.maker.make(wire::Opcode::rc_send_only, i, pattern(1024, i)), TimePoint{});
  }
  pair.sender->flush(TimePoint{});
  pair.sender->receive(pair.got, TimePoint{});
  ASSERT_EQ(pair.got.drops.size(), 5U);
  EXPECT_EQ(pair.got.drops[0].first.id, ReasonId::send_failed);
  EXPECT_EQ(pair.got.drops[0].second, ib::Counter::send_errors);
}

TEST(UdpLink, MulticastReachesAMemberOnly) {
  Pair pair("127.0.0.1", "::");  // `b` listens on the wildcard, as a lane does
  ASSERT_TRUE(pair.b.has_value());
  pair.maker.path.source = gid_of("127.0.0.1");
  pair.maker.path.destination = gid_of("239.1.2.3");
  std::vector<device::GidEntry> addresses{{gid_of("127.0.0.1"), 1}};
  pair.b->set_addresses(addresses);
  pair.b->send(pair.maker.make(wire::Opcode::ud_send_only, 1, pattern(8, 0)), TimePoint{});
  pair.b->flush(TimePoint{});
  ASSERT_TRUE(pair.b->join(gid_of("239.1.2.3"), 1));
  pair.b->send(pair.maker.make(wire::Opcode::ud_send_only, 2, pattern(8, 0)), TimePoint{});
  pair.b->flush(TimePoint{});
  read_until(*pair.b, pair.got, 1);
  ASSERT_EQ(pair.got.packets.size(), 1U);
  EXPECT_EQ(pair.got.packets[0].headers.bth.psn, 2U);
  EXPECT_EQ(pair.got.packets[0].destination, gid_of("239.1.2.3"));
  EXPECT_TRUE(pair.b->leave(gid_of("239.1.2.3"), 1));
}

TEST(TxBatch, SingleMakesThePacketThatSegmentationWouldHaveMade) {
  TxBatch batch;
  PacketMaker maker;
  maker.path.source = gid_of("10.0.0.1");
  maker.path.destination = gid_of("10.0.0.2");
  TxRoute route;
  route.flow.source = maker.path.source;
  route.flow.destination = maker.path.destination;
  for (std::uint32_t i = 0; i < 3; ++i) {
    batch.add(maker.make(wire::Opcode::rc_write_middle, i, pattern(1024, i), 2), route, true);
  }
  ASSERT_EQ(batch.messages().size(), 1U);
  TxMessage& message = batch.messages()[0];
  EXPECT_EQ(message.segment_count, 3U);
  EXPECT_EQ(message.iovec_count, 10U);  // four scratch pieces and two for each payload
  iovec pieces[TxBatch::kMaxSingleIovecs];
  for (std::size_t i = 0; i < 3; ++i) {
    const std::size_t count = batch.single(message, i, pieces);
    std::vector<std::byte> flat;
    for (std::size_t k = 0; k < count; ++k) {
      const auto* data = static_cast<const std::byte*>(pieces[k].iov_base);
      flat.insert(flat.end(), data, data + pieces[k].iov_len);
    }
    ASSERT_EQ(flat.size(), 12U + 1024 + 4);
    wire::Icrc icrc(route.flow, flat.size(), 0);
    icrc.add_headers(Bytes(flat).first(12));
    icrc.add(Bytes(flat).subspan(12, 1024));
    std::uint32_t stored = 0;
    std::memcpy(&stored, flat.data() + flat.size() - 4, 4);
    EXPECT_EQ(stored, icrc.value());
  }
}

class TxBatchRepeat : public ::testing::Test {
 protected:
  TxBatchRepeat() {
    maker.path.source = route.flow.source = gid_of("10.0.0.1");
    maker.path.destination = route.flow.destination = gid_of("10.0.0.2");
  }
  /// `count` packets with PSNs up to the first one of the next round; the payload is one piece of memory.
  void add(TxBatch& batch, wire::Opcode opcode, std::uint32_t first, std::uint32_t count, std::size_t size) {
    for (std::uint32_t i = 0; i < count; ++i) {
      ib::TxPacket packet = maker.make(opcode, (first + i) & wire::kPsnMask, {});
      packet.payload_bytes = static_cast<std::uint32_t>(size);
      packet.fragment_count = 1;
      packet.fragments[0] = {payload.data() + i * size, size, MemoryKey(1)};
      batch.add(packet, route, true);
    }
  }
  static std::vector<std::byte> flat(TxBatch& batch, const TxMessage& message) {
    std::vector<std::byte> out;
    for (std::size_t i = 0; i < message.iovec_count; ++i) {
      const iovec& piece = batch.iovecs(message)[i];
      const auto* data = static_cast<const std::byte*>(piece.iov_base);
      out.insert(out.end(), data, data + piece.iov_len);
    }
    return out;
  }
  static std::vector<std::byte> segment(TxBatch& batch, const TxMessage& message, std::size_t index) {
    iovec pieces[TxBatch::kMaxSingleIovecs];
    const std::size_t count = batch.single(message, index, pieces);
    std::vector<std::byte> out;
    for (std::size_t k = 0; k < count; ++k) {
      const auto* data = static_cast<const std::byte*>(pieces[k].iov_base);
      out.insert(out.end(), data, data + pieces[k].iov_len);
    }
    return out;
  }

  PacketMaker maker;
  TxRoute route;
  std::vector<std::byte> payload = pattern(100 * 1024, 3);
};

TEST_F(TxBatchRepeat, MakesWhatAddWouldHaveMade) {
  TxBatch one_by_one, repeated;
  add(one_by_one, wire::Opcode::rc_write_middle, 0xfffffd, 20, 1024);
  add(repeated, wire::Opcode::rc_write_middle, 0xfffffd, 1, 1024);
  EXPECT_EQ(repeated.repeat(payload.data() + 1024, 19), 19U);
  ASSERT_EQ(one_by_one.messages().size(), 1U);
  ASSERT_EQ(repeated.messages().size(), 1U);
  TxMessage& expected = one_by_one.messages()[0];
  TxMessage& message = repeated.messages()[0];
  EXPECT_EQ(message.segment_count, 20U);
  EXPECT_EQ(message.segment_bytes, expected.segment_bytes);
  EXPECT_EQ(message.bytes, expected.bytes);
  EXPECT_EQ(message.iovec_count, expected.iovec_count);
  EXPECT_FALSE(message.closed);
  EXPECT_EQ(flat(repeated, message), flat(one_by_one, expected));
  for (const std::size_t index : {0U, 1U, 19U})
    EXPECT_EQ(segment(repeated, message, index), segment(one_by_one, expected, index)) << index;
}

TEST_F(TxBatchRepeat, WhatCameAfterItGoesOn) {
  TxBatch one_by_one, repeated;
  add(one_by_one, wire::Opcode::rc_write_middle, 7, 4, 1024);
  add(one_by_one, wire::Opcode::rc_write_last, 11, 1, 100);
  add(repeated, wire::Opcode::rc_write_middle, 7, 1, 1024);
  EXPECT_EQ(repeated.repeat(payload.data() + 1024, 3), 3U);
  add(repeated, wire::Opcode::rc_write_last, 11, 1, 100);
  ASSERT_EQ(repeated.messages().size(), 1U);
  EXPECT_EQ(flat(repeated, repeated.messages()[0]), flat(one_by_one, one_by_one.messages()[0]));
}

TEST_F(TxBatchRepeat, TakesAsManyAsGoIntoADatagram) {
  TxBatch batch;
  add(batch, wire::Opcode::rc_write_middle, 7, 1, 1024);
  EXPECT_EQ(batch.repeat(payload.data() + 1024, 90), 61U);
  EXPECT_LE(batch.messages()[0].bytes, TxBatch::kMaxMessageBytes);
  EXPECT_EQ(batch.repeat(payload.data() + 62 * 1024, 29), 0U);
  std::uint32_t psn = 1000;
  for (add(batch, wire::Opcode::rc_write_middle, psn, 1, 1024); batch.has_room(); psn += 62) {
    EXPECT_LE(batch.repeat(payload.data(), 90), 61U);
    if (batch.has_room()) add(batch, wire::Opcode::rc_write_middle, psn + 62, 1, 1024);
  }
  EXPECT_EQ(batch.repeat(payload.data(), 90), 0U) << "a full batch";
}

TEST_F(TxBatchRepeat, LeavesOthersToAdd) {
  TxBatch copied, behind_longer;
  add(copied, wire::Opcode::rc_write_middle, 7, 1, TxBatch::kMaxCopy);
  EXPECT_EQ(copied.repeat(payload.data(), 5), 0U) << "payloads that are rather copied";
  add(behind_longer, wire::Opcode::rc_write_first, 7, 1, 1024);
  EXPECT_EQ(behind_longer.repeat(payload.data(), 5), 0U) << "headers of another kind";
  add(behind_longer, wire::Opcode::rc_write_middle, 8, 1, 1024);
  EXPECT_EQ(behind_longer.repeat(payload.data(), 5), 0U) << "a shorter one ends a datagram";
}

TEST(UdpLink, TellsByWhichNetdevAPacketCame) {
  for (const char* address : {"127.0.0.1", "::1"}) {
    Pair pair(address, address);
    ASSERT_NE(pair.sender, nullptr);
    pair.sender->send(pair.maker.make(wire::Opcode::ud_send_only, 1, pattern(16, 1)), TimePoint{});
    pair.sender->flush(TimePoint{});
    read_until(*pair.b, pair.got, 1);
    ASSERT_EQ(pair.got.packets.size(), 1U);
    EXPECT_EQ(pair.got.packets[0].interface_index, if_nametoindex("lo")) << address;
  }
}

/// How often it has left the processor to wait for something, and not because a busy machine took it away.
long waits_of_this_thread() {
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  return usage.ru_nvcsw;
}

TEST(UdpLink, WithoutPatienceLosesAtOnceWhatAFullSocketDoesNotTake) {
  // packets for a host that does not answer wait for its MAC, and fill the socket
  if (std::system("{ ip link add l0 type veth peer name l1 && ip address add 10.8.0.1/24 dev l0 && "
                  "ip link set l0 up && ip link set l1 up; } 2>/dev/null") != 0)
    GTEST_SKIP() << "no veth here";
  std::uint16_t port = 0;
  const int fd = bound_socket("10.8.0.1", 0, port);
  const int smallest = 0;
  setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &smallest, sizeof smallest);
  UdpLink link({.fd = fd, .port = port, .peer_port = port, .patient = false, .sizes_buffers = false});
  PacketMaker maker;
  Collector got;
  maker.path.source = gid_of("10.8.0.1");
  maker.path.destination = gid_of("10.8.0.2");
  constexpr std::uint32_t kPackets = 100;
  const long before = waits_of_this_thread();
  for (std::uint32_t i = 0; i < kPackets; ++i) {
    link.send(maker.make(wire::Opcode::ud_send_only, i, pattern(256, i)), TimePoint{});
    link.flush(TimePoint{});
  }
  EXPECT_LT(waits_of_this_thread() - before, long{kPackets} / 4) << "patience waits for each that is lost";
  link.receive(got, TimePoint{});
  ASSERT_GE(got.drops.size(), kPackets / 2);
  EXPECT_EQ(got.drops[0].first.id, ReasonId::send_failed);
  EXPECT_EQ(got.drops[0].first.figures[0], std::uint64_t{EAGAIN});
  EXPECT_EQ(std::system("ip link delete l0"), 0);
}

}  // namespace
}  // namespace softrnic::link::test
