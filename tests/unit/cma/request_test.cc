// What a request says, and whether a listener may take it.
#include "cma/request.h"

#include "base/reason_id.h"
#include "tests/unit/cma/asked.h"
#include "tests/unit/cma/network.h"

namespace softrnic::cma {
namespace {

class RequestTest : public ::testing::Test {
 protected:
  RequestTest() {
    devices.set({device_with({"10.0.0.1"})});
    listener.space = PortSpace::tcp;
    listener.qp_type = IBV_QPT_RC;
    listener.state = State::listen;
    listener.source = address("0.0.0.0", 7174);
    request.kind = cm::EventKind::request;
    request.service = cm::Service::rc;
    request.service_id = cm::ServiceId(service_id_of(PortSpace::tcp, 7174));
    request.path.local = address("10.0.0.1").host;
    request.path.remote = address("10.0.0.2").host;
    request.path.mtu = IBV_MTU_1024;
    names(address("10.0.0.2", 45678));
  }
  /// The addresses that lead the private data, and a byte of the program's.
  void names(const SocketAddress& source) {
    data.assign(IpHeader::kSize + 1, std::byte{42});
    IpHeader{source, address("10.0.0.1")}.write(data);
    request.private_data = data;
  }

  Asked host;
  DeviceTable devices;
  Id listener;
  cm::Event request;
  std::vector<std::byte> data;
};

TEST_F(RequestTest, ThatIsInOrderIsTaken) { EXPECT_FALSE(refusal_of(request, listener, devices, host)); }

TEST_F(RequestTest, OfAnotherServiceIsRefused) {
  request.service = cm::Service::uc;
  const auto refusal = refusal_of(request, listener, devices, host);
  ASSERT_TRUE(refusal);
  EXPECT_EQ(refusal->reason, cm::RejectReason::invalid_transport_service);
  listener.qp_type = IBV_QPT_UC;
  EXPECT_FALSE(refusal_of(request, listener, devices, host));
  request.service = cm::Service::xrc;
  EXPECT_TRUE(refusal_of(request, listener, devices, host));
  listener.qp_type = IBV_QPT_XRC_SEND;
  EXPECT_TRUE(refusal_of(request, listener, devices, host));
  listener.qp_type = IBV_QPT_XRC_RECV;
  EXPECT_FALSE(refusal_of(request, listener, devices, host));
  request.kind = cm::EventKind::service_id_request;
  EXPECT_EQ(refusal_of(request, listener, devices, host)->status, cm::SidrStatus::unsupported);
}

TEST_F(RequestTest, ToAnAddressThatNobodyHasIsRefused) {
  request.path.local = address("10.0.0.9").host;
  const auto refusal = refusal_of(request, listener, devices, host);
  ASSERT_TRUE(refusal);
  EXPECT_EQ(refusal->reason, cm::RejectReason::primary_remote_gid);
}

TEST_F(RequestTest, InAnotherAddressesNameIsRefusedAndExplained) {
  names(address("10.0.0.3", 45678));
  const auto refusal = refusal_of(request, listener, devices, host);
  ASSERT_TRUE(refusal && refusal->explanation);
  EXPECT_EQ(refusal->reason, cm::RejectReason::unsupported_request);
  EXPECT_EQ(refusal->explanation->id, ReasonId::cma_foreign_source);
  names(address("127.0.0.1", 45678));
  EXPECT_TRUE(refusal_of(request, listener, devices, host)) << "loopback is of this host alone";
  request.path.remote = address("10.0.0.1").host;
  EXPECT_FALSE(refusal_of(request, listener, devices, host));
}

TEST_F(RequestTest, OfMoreMtuThanThePortHasIsRefused) {
  request.path.mtu = IBV_MTU_2048;
  const auto refusal = refusal_of(request, listener, devices, host);
  ASSERT_TRUE(refusal);
  EXPECT_EQ(refusal->reason, cm::RejectReason::invalid_mtu);
}

TEST_F(RequestTest, GivesItsIdTheAddressesAndWhatThePeerOffers) {
  request.endpoint.qpn = Qpn(0x222);
  request.endpoint.responder_resources = 3;
  request.endpoint.initiator_depth = 5;
  listener.tos = 0x20;
  Id id;
  id.qp_type = IBV_QPT_RC;
  take_over(id, listener, request, *devices.with_gid(request.path.local));
  EXPECT_EQ(id.state, State::connect);
  EXPECT_EQ(id.source, address("10.0.0.1", 7174));
  EXPECT_EQ(id.destination, address("10.0.0.2", 45678));
  EXPECT_EQ(id.tos, 0x20);
  EXPECT_TRUE(id.agreed);
  const Event event = request_event(id, request);
  EXPECT_EQ(event.parameters.qpn, 0x222U);
  EXPECT_EQ(event.parameters.responder_resources, 5) << "what the peer starts, this side responds to";
  EXPECT_EQ(event.parameters.initiator_depth, 3);
  EXPECT_EQ(event.parameters.private_data, std::vector{std::byte{42}}) << "without the addresses";
}

TEST_F(RequestTest, OfAnAfIbListenerHasGidsForAddresses) {
  listener.source = SocketAddress::any(Family::ib);
  Id id;
  id.qp_type = IBV_QPT_RC;
  take_over(id, listener, request, *devices.with_gid(request.path.local));
  EXPECT_EQ(id.destination.family, Family::ib);
  EXPECT_EQ(id.destination.host, request.path.remote);
  EXPECT_EQ(request_event(id, request).parameters.private_data.size(), data.size())
      << "all of it is the program's";
}

}  // namespace
}  // namespace softrnic::cma
