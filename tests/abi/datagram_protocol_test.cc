// Datagram rsockets: what travels, against a peer made by hand.
#include <unistd.h>

#include <chrono>

#include "tests/abi/rsocket_fixture.h"

namespace softrnic::abi_test {
namespace {

constexpr char kTag[] = "\x55\x55\x55\x55";

/// A peer as librdmacm is one: a UDP socket and a UD QP at 127.0.0.1.
class Peer {
 public:
  explicit Peer(rdma_cm_id* id) : id_(id), udp_(socket(AF_INET, SOCK_DGRAM, 0)) {
    sockaddr_storage own = address_of("127.0.0.1");
    EXPECT_EQ(bind(udp_, generic(own), size_of(own)), 0);
    memory_ = rdma_reg_msgs(id, bytes_, sizeof bytes_);
    EXPECT_EQ(rdma_post_recv(id, nullptr, bytes_, sizeof bytes_, memory_), 0);
  }
  ~Peer() {
    EXPECT_EQ(rdma_dereg_mr(memory_), 0);
    close(udp_);
  }
  sockaddr_storage name() const {
    sockaddr_storage out{};
    socklen_t length = sizeof out;
    EXPECT_EQ(getsockname(udp_, generic(out), &length), 0);
    return out;
  }
  std::string header(char op) const {
    std::string out(kTag);
    out += std::string({4, op, 16, 0});
    const std::uint32_t qpn = htonl(id_->qp->qp_num), host = htonl(INADDR_LOOPBACK);
    out.append(reinterpret_cast<const char*>(&qpn), 4);
    return out.append(reinterpret_cast<const char*>(&host), 4);
  }
  void send(const std::string& bytes, sockaddr_storage to) const {
    EXPECT_EQ(sendto(udp_, bytes.data(), bytes.size(), 0, generic(to), size_of(to)),
              static_cast<ssize_t>(bytes.size()));
  }
  std::string receive() const {
    if (!readable(udp_, 0)) return "";
    char bytes[4096];
    const ssize_t size = recv(udp_, bytes, sizeof bytes, 0);
    return {bytes, size > 0 ? static_cast<std::size_t>(size) : 0};
  }
  bool quiet() const { return !readable(udp_, 0); }
  /// What came to the QP, if something did.
  std::string take() {
    ibv_wc wc{};
    if (ibv_poll_cq(id_->recv_cq, 1, &wc) != 1) return "";
    EXPECT_EQ(wc.status, IBV_WC_SUCCESS);
    std::string out(bytes_ + kGrhBytes, wc.byte_len - kGrhBytes);
    EXPECT_EQ(rdma_post_recv(id_, nullptr, bytes_, sizeof bytes_, memory_), 0);
    return out;
  }
  void send_by_ud(const std::string& bytes, std::uint32_t qpn) const {
    ibv_ah_attr attributes{};
    attributes.is_global = attributes.port_num = 1;
    attributes.grh.hop_limit = 64;
    attributes.grh.dgid.raw[10] = attributes.grh.dgid.raw[11] = 0xff;
    attributes.grh.dgid.raw[12] = 127;
    attributes.grh.dgid.raw[15] = 1;
    ibv_gid gid{};
    while (ibv_query_gid(id_->verbs, 1, attributes.grh.sgid_index, &gid) == 0 &&
           std::memcmp(&gid, &attributes.grh.dgid, sizeof gid) != 0)
      ++attributes.grh.sgid_index;
    ibv_ah* const ah = ibv_create_ah(id_->pd, &attributes);
    ASSERT_NE(ah, nullptr) << std::strerror(errno);
    ibv_mr* const mr = rdma_reg_msgs(id_, const_cast<char*>(bytes.data()), bytes.size());
    EXPECT_EQ(rdma_post_ud_send(id_, nullptr, const_cast<char*>(bytes.data()), bytes.size(), mr,
                                IBV_SEND_SIGNALED, ah, qpn),
              0);
    ibv_wc wc{};
    EXPECT_EQ(rdma_get_send_comp(id_, &wc), 1);
    EXPECT_EQ(wc.status, IBV_WC_SUCCESS);
    EXPECT_EQ(rdma_dereg_mr(mr), 0);
    ibv_destroy_ah(ah);
  }

 private:
  rdma_cm_id* id_;
  int udp_;
  char bytes_[4096]{};
  ibv_mr* memory_ = nullptr;
};

class DatagramProtocol : public DatagramRsocketTest {
 protected:
  void SetUp() override {
    DatagramRsocketTest::SetUp();
    client = make_id(client_channel.get(), RDMA_PS_UDP);
    sockaddr_storage own = address_of("127.0.0.1");
    ASSERT_EQ(rdma_bind_addr(client.get(), generic(own)), 0);
    make_qp(client.get());
    peer = std::make_unique<Peer>(client.get());
    socket = std::make_unique<Rsocket>(AF_INET, SOCK_DGRAM);
  }
  void TearDown() override { peer.reset(); }

  static std::string ud_header(const sockaddr_storage& from) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(from);
    std::string out({4, 8});
    out.append(reinterpret_cast<const char*>(&v4.sin_port), 2);
    return out.append(reinterpret_cast<const char*>(&v4.sin_addr), 4);
  }
  static std::uint32_t qpn_in(const std::string& message) {
    std::uint32_t qpn = 0;
    std::memcpy(&qpn, &message[8], 4);
    return ntohl(qpn) & 0xffffff;
  }
  /// The socket answers to a datagram by UDP: its QPN.
  std::uint32_t meet() {
    EXPECT_EQ(socket->bind("127.0.0.1"), 0);
    peer->send(peer->header(0) + "by UDP", socket->name());
    EXPECT_EQ(socket->receive(), "by UDP");
    const std::string answer = peer->receive();
    EXPECT_EQ(answer.size(), 16U);
    return answer.size() == 16 ? qpn_in(answer) : 0;
  }

  std::unique_ptr<Peer> peer;
  std::unique_ptr<Rsocket> socket;
};

TEST_F(DatagramProtocol, TheFirstGoesByUdpUntilThePeerHasAnswered) {
  ASSERT_EQ(socket->connect(peer->name()), 0) << std::strerror(errno);
  ASSERT_EQ(socket->send("hello"), 5);
  const std::string first = peer->receive();
  ASSERT_EQ(first.size(), 21U);
  const std::string own_header = peer->header(0);
  EXPECT_EQ(first.substr(0, 8), own_header.substr(0, 8));
  EXPECT_EQ(first.substr(12, 4), own_header.substr(12, 4)) << "the sender's address";
  EXPECT_GT(qpn_in(first), 1U);
  EXPECT_EQ(first.substr(16), "hello");
  peer->send(peer->header(7), socket->name());
  std::string by_ud;
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::milliseconds(kPatienceMs);
  while (by_ud.empty() && std::chrono::steady_clock::now() < give_up) {
    ASSERT_EQ(socket->send("hello"), 5);
    by_ud = peer->take();
  }
  EXPECT_EQ(by_ud, ud_header(socket->name()) + "hello");
}

TEST_F(DatagramProtocol, WhoSendsByUdpIsToldOurQueuePair) {
  const std::uint32_t qpn = meet();
  peer->send_by_ud(ud_header(peer->name()) + "by UD", qpn);
  sockaddr_storage from{};
  EXPECT_EQ(socket->receive(&from), "by UD");
  const sockaddr_storage expected = peer->name();
  EXPECT_EQ(std::memcmp(&from, &expected, sizeof(sockaddr_in)), 0);
}

TEST_F(DatagramProtocol, WhatMakesNoSenseIsDropped) {
  const std::uint32_t qpn = meet();
  const std::string good = peer->header(0);
  std::string other_tag = good, other_op = good, other_length = good, no_qpn = good;
  other_tag[0] = 0;
  other_op[5] = 3;
  other_length[6] = 28;
  no_qpn.replace(8, 4, std::string(4, '\0'));
  for (const std::string& bytes : {std::string("x"), good.substr(0, 15), other_tag + "x", other_op + "x",
                                   other_length, no_qpn + "x", good + std::string(2048, 'x')})
    peer->send(bytes, socket->name());
  const std::string header = ud_header(peer->name());
  std::string other_version = header, elsewhere = header;
  other_version[0] = 6;
  elsewhere[4] = 10;
  for (const std::string& bytes :
       {std::string("x"), header.substr(0, 7), other_version + "x", elsewhere + "x"})
    peer->send_by_ud(bytes, qpn);
  EXPECT_TRUE(socket->quiet());
  peer->send_by_ud(header + "good", qpn);
  EXPECT_EQ(socket->receive(), "good");
  peer->send(good + "good", socket->name());
  EXPECT_EQ(socket->receive(), "good");
  peer->receive();
  EXPECT_TRUE(peer->quiet()) << "only the good one was answered";
}

TEST_F(DatagramProtocol, AnAnswerToNothingIsIgnored) {
  ASSERT_EQ(socket->bind("127.0.0.1"), 0);
  peer->send(peer->header(7), socket->name());
  EXPECT_TRUE(socket->quiet());
  EXPECT_TRUE(peer->quiet()) << "and not answered";
  ASSERT_EQ(socket->send_to("x", peer->name()), 1);
  EXPECT_EQ(peer->receive().size(), 17U) << "whoever has sent nothing is asked first";
}

}  // namespace
}  // namespace softrnic::abi_test
