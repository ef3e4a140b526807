// Addresses, service IDs, ports, the header of private data, and the table of states.
#include <infiniband/ib.h>

#include <cstring>
#include <set>

#include "cma/ip_header.h"
#include "cma/path.h"
#include "cma/port_table.h"
#include "tests/unit/cma/network.h"

namespace softrnic::cma {
namespace {

PortTable::Owner owner(IdNumber id, const std::string& at, std::uint16_t port, bool reuse = false,
                       bool family_only = true) {
  return {id, address(at, port), reuse, family_only, false};
}

int bind_error(PortTable& table, const PortTable::Owner& who) {
  const auto port = table.bind(PortSpace::tcp, who, 0);
  return port ? 0 : port.error().error;
}

TEST(Ports, TwoOwnersOfOnePort) {
  const struct {
    const char *first, *second;
    bool reuse, family_only;
    int error;
  } rows[] = {
      {"10.0.0.1", "10.0.0.1", false, true, EADDRINUSE},
      {"10.0.0.1", "10.0.0.2", false, true, 0},
      {"0.0.0.0", "10.0.0.1", false, true, EADDRINUSE},
      {"10.0.0.1", "0.0.0.0", false, true, EADDRINUSE},
      {"0.0.0.0", "::", false, true, 0},
      {"0.0.0.0", "::", false, false, EADDRINUSE},
      {"10.0.0.1", "::", false, false, EADDRINUSE},
      {"10.0.0.1", "fd00::1", false, false, 0},
      {"10.0.0.1", "10.0.0.1", true, true, 0},
      {"0.0.0.0", "10.0.0.1", true, true, 0},
  };
  for (const auto& row : rows) {
    PortTable table;
    ASSERT_EQ(bind_error(table, owner(1, row.first, 7000, row.reuse, true)), 0);
    EXPECT_EQ(bind_error(table, owner(2, row.second, 7000, row.reuse, row.family_only)), row.error)
        << row.first << " then " << row.second;
  }
}

TEST(Ports, SharingEndsWhereSomebodyListens) {
  PortTable table;
  ASSERT_EQ(bind_error(table, owner(1, "10.0.0.1", 7000, true)), 0);
  ASSERT_TRUE(table.listen(PortSpace::tcp, 7000, 1));
  EXPECT_EQ(bind_error(table, owner(2, "10.0.0.1", 7000, true)), EADDRINUSE);
  table.release(PortSpace::tcp, 7000, 1);
  EXPECT_EQ(bind_error(table, owner(2, "10.0.0.1", 7000, true)), 0);
  EXPECT_EQ(bind_error(table, owner(3, "10.0.0.1", 7000, true)), 0);
  EXPECT_FALSE(table.listen(PortSpace::tcp, 7000, 2));
}

TEST(Ports, SpacesAreApart) {
  PortTable table;
  ASSERT_TRUE(table.bind(PortSpace::tcp, owner(1, "0.0.0.0", 7000), 0));
  EXPECT_TRUE(table.bind(PortSpace::udp, owner(2, "0.0.0.0", 7000), 0));
}

TEST(Ports, EphemeralOnesRunOut) {
  PortTable table;
  std::set<std::uint16_t> ports;
  const unsigned all = kLastEphemeralPort - kFirstEphemeralPort + 1;
  for (unsigned i = 0; i < all; ++i) {
    const auto port = table.bind(PortSpace::tcp, owner(i + 1, "0.0.0.0", 0), i * 2654435761U);
    ASSERT_TRUE(port);
    EXPECT_GE(*port, kFirstEphemeralPort);
    EXPECT_LE(*port, kLastEphemeralPort);
    ports.insert(*port);
  }
  EXPECT_EQ(ports.size(), all);
  EXPECT_EQ(bind_error(table, owner(all + 1, "0.0.0.0", 0)), EADDRINUSE);
}

TEST(ServiceIds, HoldSpaceAndPort) {
  EXPECT_EQ(service_id_of(PortSpace::tcp, 7174), 0x0000000001061c06U);
  EXPECT_EQ(service_id_of(PortSpace::udp, 1), 0x0000000001110001U);
  EXPECT_EQ(service_id_of(PortSpace::ib, 0), 0x00000000013f0000U);
  EXPECT_EQ(service_of(0x0000000001110007U)->port, 7);
  EXPECT_FALSE(service_of(0x1000000001110007U));
}

TEST(Addresses, SurviveTheSockaddr) {
  for (const SocketAddress& original :
       {address("10.1.2.3", 99), address("fe80::1", 5, 3), SocketAddress::any(Family::ipv6)})
    EXPECT_EQ(*from_sockaddr(to_sockaddr(original)), original);
  sockaddr_ib ib{};
  ib.sib_family = AF_IB;
  ib.sib_pkey = 0xffff;
  ib.sib_sid = __builtin_bswap64(0x00000000013f1234U);
  ib.sib_sid_mask = ~0ULL;
  sockaddr_storage storage{};
  std::memcpy(&storage, &ib, sizeof ib);
  const auto address = from_sockaddr(storage);
  ASSERT_TRUE(address);
  EXPECT_EQ(address->port, 0x1234);
  EXPECT_EQ(std::memcmp(&storage, &ib, sizeof ib), 0);
  const sockaddr_storage again = to_sockaddr(*address);
  EXPECT_EQ(std::memcmp(&again, &ib, sizeof ib), 0);
  storage.ss_family = AF_UNIX;
  EXPECT_FALSE(from_sockaddr(storage));
}

TEST(Addresses, OfGidsHaveTwoWildcards) {
  SocketAddress gid = SocketAddress::any(Family::ib);
  EXPECT_TRUE(gid.is_any());
  gid.host = SocketAddress::any(Family::ipv4).host;  // what rdma_getaddrinfo makes of 0.0.0.0
  EXPECT_TRUE(gid.is_any());
  gid.host = address("10.0.0.1").host;
  EXPECT_FALSE(gid.is_any());
}

// The private data of a REQ of Linux' rping, 10.77.0.11:45678 to 10.77.0.12, but for the port.
TEST(IpHeaders, AreAsLinuxWritesThem) {
  const unsigned char expected[IpHeader::kSize] = {0, 0x40, 0xb2, 0x6e, 0,  0,  0, 0,  0,  0,  0, 0,
                                                   0, 0,    0,    0,    10, 77, 0, 11, 0,  0,  0, 0,
                                                   0, 0,    0,    0,    0,  0,  0, 0,  10, 77, 0, 12};
  std::array<std::byte, IpHeader::kSize> written;
  IpHeader{address("10.77.0.11", 45678), address("10.77.0.12")}.write(written);
  EXPECT_EQ(std::memcmp(written.data(), expected, sizeof expected), 0);
  const auto read = IpHeader::read(written);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->source, address("10.77.0.11", 45678));
  EXPECT_EQ(read->destination, address("10.77.0.12"));
  written[0] = std::byte{1};
  EXPECT_FALSE(IpHeader::read(written));
  written[0] = std::byte{0};
  written[1] = std::byte{0x50};
  EXPECT_FALSE(IpHeader::read(written));
  EXPECT_FALSE(IpHeader::read(std::span(written).first(35)));
}

TEST(Paths, AckTimeoutsCoverTheRoundTripAndTheDelay) {
  EXPECT_EQ(ack_timeout_code(15, 16), 17);  // as Linux: the golden REQ has 17
  EXPECT_EQ(ack_timeout_code(15, 18), 19);
  EXPECT_EQ(ack_timeout_code(18, 18), 20);
  EXPECT_EQ(ack_timeout_code(25, 18), 25);
  EXPECT_EQ(ack_timeout_code(31, 31), 31);
}

TEST(States, OnlyTheRightCallIsPossible) {
  EXPECT_TRUE(check_call(Call::bind, State::idle));
  EXPECT_TRUE(check_call(Call::resolve_address, State::address_bound));
  EXPECT_TRUE(check_call(Call::connect, State::route_resolved));
  const auto refused = check_call(Call::connect, State::address_resolved);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().error, EINVAL);
  EXPECT_EQ(describe(refused.error().reason), "rdma_connect of a communication id in state ADDR_RESOLVED");
  for (std::size_t call = 0; call < kCalls; ++call)
    EXPECT_FALSE(check_call(static_cast<Call>(call), State::destroying)) << call;
}

}  // namespace
}  // namespace softrnic::cma
