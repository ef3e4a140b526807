// Stream rsockets between GIDs (AF_IB); those between IP addresses are judged by rstream and its like.
#include <fcntl.h>
#include <infiniband/ib.h>
#include <unistd.h>

#include <thread>

#include "base/unique_fd.h"
#include "tests/abi/rsocket_fixture.h"

namespace softrnic::abi_test {
namespace {

class StreamRsocketTest : public CmTest {
 protected:
  /// The GID of an IPv4 address of the host, and the service ID of a TCP port.
  static sockaddr_storage gid_of_loopback(std::uint16_t port) {
    sockaddr_storage out{};
    auto& gid = reinterpret_cast<sockaddr_ib&>(out);
    gid.sib_family = AF_IB;
    gid.sib_pkey = htobe16(0xffff);
    ib_addr_set(&gid.sib_addr, 0, 0, htobe32(0xffff), htobe32(INADDR_LOOPBACK));
    gid.sib_sid = htobe64(RDMA_IB_IP_PS_TCP + port);
    gid.sib_sid_mask = htobe64(RDMA_IB_IP_PS_MASK | (port != 0 ? RDMA_IB_IP_PORT_MASK : 0));
    return out;
  }
  static std::uint16_t port_of(const sockaddr_storage& name) {
    if (name.ss_family == AF_INET) return ntohs(reinterpret_cast<const sockaddr_in&>(name).sin_port);
    return static_cast<std::uint16_t>(be64toh(reinterpret_cast<const sockaddr_ib&>(name).sib_sid));
  }

  /// What each writes is what the other reads.
  static void talk(Rsocket& client, Rsocket& server) {
    ASSERT_EQ(client.send("from the client"), 15) << std::strerror(errno);
    EXPECT_EQ(server.receive(), "from the client");
    ASSERT_EQ(server.send("from the server"), 15) << std::strerror(errno);
    EXPECT_EQ(client.receive(), "from the server");
  }

  /// A client of AF_IB, and what the listener takes.
  static void meet(Rsocket& listening, sa_family_t seen_by_listener) {
    ASSERT_EQ(rlisten(listening.fd(), 1), 0) << std::strerror(errno);
    Rsocket client(AF_IB, SOCK_STREAM);
    const sockaddr_storage to = gid_of_loopback(port_of(listening.name()));
    std::thread connecting([&] { EXPECT_EQ(client.connect(to), 0) << std::strerror(errno); });
    sockaddr_storage peer{};
    socklen_t length = sizeof peer;
    Rsocket server(raccept(listening.fd(), generic(peer), &length));
    connecting.join();
    EXPECT_EQ(peer.ss_family, seen_by_listener);
    EXPECT_EQ(length, size_of(peer));
    EXPECT_EQ(client.name().ss_family, AF_IB);
    talk(client, server);
  }
};

TEST_F(StreamRsocketTest, ConnectsByGid) {
  Rsocket listening(AF_IB, SOCK_STREAM);
  sockaddr_storage address = gid_of_loopback(0);
  ASSERT_EQ(rbind(listening.fd(), generic(address), sizeof(sockaddr_ib)), 0) << std::strerror(errno);
  meet(listening, AF_IB);
}

// Its addresses are those in the header of the request's private data, which here the client has written
// itself.
TEST_F(StreamRsocketTest, ConnectsByGidToAListenerOfIpAddresses) {
  Rsocket listening(AF_INET, SOCK_STREAM);
  ASSERT_EQ(listening.bind("127.0.0.1"), 0) << std::strerror(errno);
  meet(listening, AF_INET);
}

// What rpoll says of a listener raccept keeps, though a request has come.
TEST_F(StreamRsocketTest, ARequestThatCannotBeAcceptedMakesNoListenerReadable) {
  Rsocket listening(AF_INET, SOCK_STREAM);
  ASSERT_EQ(listening.bind("127.0.0.1"), 0) << std::strerror(errno);
  ASSERT_EQ(rlisten(listening.fd(), 2), 0) << std::strerror(errno);
  client = make_id(client_channel.get());
  sockaddr_storage to = listening.name();
  ASSERT_EQ(rdma_resolve_addr(client.get(), nullptr, generic(to), 2000), 0) << std::strerror(errno);
  ASSERT_NE(expect_event(client_channel.get(), RDMA_CM_EVENT_ADDR_RESOLVED), nullptr);
  ASSERT_EQ(rdma_resolve_route(client.get(), 2000), 0) << std::strerror(errno);
  ASSERT_NE(expect_event(client_channel.get(), RDMA_CM_EVENT_ROUTE_RESOLVED), nullptr);
  make_qp(client.get());
  rdma_conn_param no_rsocket{};
  ASSERT_EQ(rdma_connect(client.get(), &no_rsocket), 0) << std::strerror(errno);
  ASSERT_TRUE(readable(listening.fd(), kPatienceMs)) << "its channel";
  pollfd waiting{listening.fd(), POLLIN, 0};
  EXPECT_EQ(rpoll(&waiting, 1, 0), 0);
  constexpr int kConsumerDefined = 28;
  EXPECT_NE(expect_event(client_channel.get(), RDMA_CM_EVENT_REJECTED, kConsumerDefined), nullptr);

  Rsocket later(AF_INET, SOCK_STREAM);
  ASSERT_EQ(rfcntl(listening.fd(), F_SETFL, O_NONBLOCK), 0);
  std::thread connecting([&] { EXPECT_EQ(later.connect(to), 0) << std::strerror(errno); });
  EXPECT_EQ(rpoll(&waiting, 1, kPatienceMs), 1);
  const UniqueFd lower(dup(STDIN_FILENO));
  Rsocket accepted(raccept(listening.fd(), nullptr, nullptr));
  EXPECT_GT(accepted.fd(), lower.get()) << "librspreload.so counts on that";
  connecting.join();
  EXPECT_EQ(rpoll(&waiting, 1, 0), 0);
  EXPECT_REFUSED(raccept(listening.fd(), nullptr, nullptr), EAGAIN);
  talk(later, accepted);
}

TEST_F(StreamRsocketTest, HalfAnAddressIsRefused) {
  Rsocket socket(AF_IB, SOCK_STREAM);
  sockaddr_storage address = gid_of_loopback(0);
  EXPECT_REFUSED(rbind(socket.fd(), generic(address), sizeof(sockaddr_in6)), EINVAL);
  EXPECT_REFUSED(rconnect(socket.fd(), generic(address), sizeof(sockaddr_in6)), EINVAL);
}

TEST_F(StreamRsocketTest, DatagramsHaveIpAddresses) {
  EXPECT_REFUSED(rsocket(AF_IB, SOCK_DGRAM, 0), ENOTSUP);
}

}  // namespace
}  // namespace softrnic::abi_test
