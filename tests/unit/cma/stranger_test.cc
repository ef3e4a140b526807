// Requests whose sender nobody knows: floods with forged addresses, and false claims.
#include <algorithm>

#include "base/reason_id.h"
#include "cm/messages.h"
#include "cma/ip_header.h"
#include "cma/port_space.h"
#include "tests/unit/cma/network.h"

namespace softrnic::cma {
namespace {

class Strangers : public TwoNodes {
 protected:
  /// A REQ as it comes from a host that is on no network of this test: its answers go nowhere.
  void forge(std::uint32_t number, const wire::Gid& claimed) {
    mad::Address from;
    from.local = address("10.0.0.1").host;
    from.remote = sender_of(number);
    cm::Req req;
    req.local_id = number;
    req.service_id = cm::ServiceId(service_id_of(PortSpace::tcp, kPort));
    req.ca_guid = number;
    req.qpn = Qpn(number);
    req.mtu = 3;
    req.primary.local_gid = from.remote;
    req.primary.remote_gid = from.local;
    IpHeader header;
    header.source = address("1.1.1.1", 5);
    header.source.host = claimed;
    header.destination = address("10.0.0.1", kPort);
    header.write(req.private_data);
    server.manager.receive(from, cm::encode(req, number));
  }
  void forge(std::uint32_t number) { forge(number, sender_of(number)); }
  static wire::Gid sender_of(std::uint32_t number) {
    return wire::Gid::from_ipv4_be(htonl(0x0b000000 + number));
  }
  Event next_request() {
    Event event = server.expect(RDMA_CM_EVENT_CONNECT_REQUEST);
    EXPECT_TRUE(server.manager.view(event.id).has_value());
    return event;
  }
  IdNumber connect() {
    const IdNumber id = client.routed(address("10.0.0.1", kPort));
    EXPECT_TRUE(client.manager.connect(id, {.private_data = {std::byte{42}}, .qpn = 0x222}, {}));
    network.deliver();
    return id;
  }
};

TEST_F(Strangers, AFloodThatTheProgramHasNotLookedAtKeepsNobodyOut) {
  server.listener(address("0.0.0.0", kPort));
  constexpr std::uint32_t kRequests = 40000;
  for (std::uint32_t number = 1; number <= kRequests; ++number) forge(number);
  connect();
  EXPECT_FALSE(client.manager.next_event(client.channel)) << "it is not refused";
  std::size_t fetched = 1;
  Event event = next_request();
  while (event.parameters.private_data.at(0) != std::byte{42}) {
    event = next_request();
    ++fetched;
  }
  EXPECT_FALSE(server.manager.next_event(server.channel)) << "it was the last";
  EXPECT_LE(fetched, 32768U);
  EXPECT_LE(server.manager.ids(), 32768U + 1) << "and the listener";
  ASSERT_TRUE(server.manager.accept(event.id, 300, ConnectionParameters{.qpn = 0x111}, {}));
  network.deliver();
  client.expect(RDMA_CM_EVENT_CONNECT_RESPONSE);
}

// All but the last, which the program may be about to fetch.
TEST_F(Strangers, RequestsThatWereTakenBackAreGoneForTheProgram) {
  const IdNumber listening = server.listener(address("0.0.0.0", kPort));
  const IdNumber first = connect(), second = connect();
  for (const IdNumber id : {first, second}) ASSERT_TRUE(client.manager.destroy(id));
  network.deliver();
  EXPECT_EQ(server.manager.withdrawn(server.channel), 1U);
  EXPECT_EQ(server.manager.ids(), 2U);
  const auto fetched = server.manager.destroy(listening);
  ASSERT_TRUE(fetched);
  EXPECT_EQ(*fetched, 0U);
  EXPECT_EQ(server.manager.withdrawn(server.channel), 2U);
  EXPECT_EQ(server.manager.ids(), 0U);
}

TEST_F(Strangers, AFloodOfEarlyRequestsKeepsNobodyOut) {
  const IdNumber listening = server.make_id(PortSpace::tcp, 100);
  ASSERT_TRUE(server.manager.bind(listening, address("0.0.0.0", kPort)));
  for (std::uint32_t number = 1; number <= 1000; ++number) forge(number);
  connect();
  EXPECT_FALSE(client.manager.next_event(client.channel));
  ASSERT_TRUE(server.manager.listen(listening, 1));
  std::size_t fetched = 1;
  while (next_request().parameters.private_data.at(0) != std::byte{42}) ++fetched;
  EXPECT_LE(fetched, 256U);
}

// rdma_get_peer_addr tells programs what stands there, and they may go by it.
TEST_F(Strangers, NobodySpeaksInAnotherAddressesName) {
  server.listener(address("0.0.0.0", kPort));
  forge(1, address("10.0.0.2").host);
  forge(2, address("127.0.0.1").host);
  EXPECT_FALSE(server.manager.next_event(server.channel));
  EXPECT_EQ(std::ranges::count(server.explained, ReasonId::cma_foreign_source), 2);
  ASSERT_EQ(network.packets.size(), 2U);
  for (const Network::Packet& packet : network.packets) {
    const auto rej = cm::decode<cm::Rej>(packet.mad);
    EXPECT_EQ(rej.reason, cm::RejectReason::unsupported_request);
  }
  forge(3);
  next_request();
}

}  // namespace
}  // namespace softrnic::cma
