// Packets that find no receive, sent by a host that may send what it likes, beside
// connections that have work to do.
#include <arpa/inet.h>
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "tests/unit/engine/adapter_fixture.h"
#include "wire/headers.h"
#include "wire/icrc.h"

namespace softrnic::engine::test {
namespace {

constexpr std::uint32_t kQkey = 0x1234;
constexpr std::size_t kTargets = 40;

/// A host of its own address that makes its packets itself.
class Stranger {
 public:
  explicit Stranger(const wire::Gid& target) {
    flow_.source = wire::Gid::from_ipv4_be(inet_addr("127.0.0.9"));
    flow_.destination = target;
    fd_ = UniqueFd(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    sockaddr_in here{};
    here.sin_family = AF_INET;
    here.sin_addr.s_addr = inet_addr("127.0.0.9");
    EXPECT_EQ(bind(fd_.get(), reinterpret_cast<sockaddr*>(&here), sizeof here), 0);
    socklen_t size = sizeof here;
    getsockname(fd_.get(), reinterpret_cast<sockaddr*>(&here), &size);
    flow_.source_port = ntohs(here.sin_port);
    const int dont_fragment = IP_PMTUDISC_DO;  // then the identification is 0
    setsockopt(fd_.get(), IPPROTO_IP, IP_MTU_DISCOVER, &dont_fragment, sizeof dont_fragment);
  }

  void send_datagram(Qpn to, std::size_t bytes) const {
    wire::Headers headers;
    headers.bth.opcode = wire::Opcode::ud_send_only;
    headers.bth.destination = to;
    headers.bth.pkey = wire::kDefaultPkey;
    headers.deth.qkey = kQkey;
    headers.deth.source = Qpn(77);
    std::vector<std::byte> packet(wire::kMaxHeaderBytes + bytes + wire::kIcrcBytes);
    const std::size_t end = wire::encode(headers, packet) + bytes;
    packet.resize(end + wire::kIcrcBytes);
    wire::Icrc icrc(flow_, packet.size(), 0);
    icrc.add_headers(Bytes(packet).first(end));
    const std::uint32_t value = icrc.value();
    std::memcpy(packet.data() + end, &value, sizeof value);
    sockaddr_in there{};
    there.sin_family = AF_INET;
    there.sin_port = htons(wire::kRoceUdpPort);
    there.sin_addr.s_addr = inet_addr("127.0.0.1");
    EXPECT_GT(
        sendto(fd_.get(), packet.data(), packet.size(), 0, reinterpret_cast<sockaddr*>(&there), sizeof there),
        0);
  }

 private:
  UniqueFd fd_;
  wire::Flow flow_;
};

void listen_for_datagrams(Node& node) {
  ibv_qp_attr attr{};
  attr.qp_state = IBV_QPS_INIT;
  attr.port_num = 1;
  attr.qkey = kQkey;
  EXPECT_TRUE(node.qp->modify(attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY));
  attr.qp_state = IBV_QPS_RTR;
  EXPECT_TRUE(node.qp->modify(attr, IBV_QP_STATE));
}

/// Queue pairs of this process that take datagrams and have no receives, and an impatient connection beside
/// them.
struct Crowd {
  Crowd() {
    for (Node* node : {&a, &b}) {
      node->timeout = 8;  // 1 ms
      node->retry_count = 1;
    }
    ready = meet(a, b);
    for (std::size_t i = 0; i < kTargets; ++i) {
      targets.push_back(std::make_unique<Node>(IBV_QPT_UD));
      ready = ready && targets.back()->ready();
      if (ready) listen_for_datagrams(*targets.back());
    }
  }
  ~Crowd() {
    for (const auto& target : targets) target->destroy();
    a.destroy();
    b.destroy();
  }
  /// A message there and back. False: the connection broke.
  bool exchange() {
    const auto one_way = [](Node& from, Node& to) {
      to.receive(0, 100);
      from.post(IBV_WR_SEND, 0, 100, to.address());
      return from.complete().status == IBV_WC_SUCCESS && to.complete().status == IBV_WC_SUCCESS;
    };
    return one_way(a, b) && one_way(b, a);
  }

  Node a, b;
  std::vector<std::unique_ptr<Node>> targets;
  bool ready = false;
};

TEST(Starving, DatagramsWithoutReceivesDoNotHoldUpAConnection) {
  in_namespace([] {
    setenv("SOFTRNIC_PATH", "wire", 1);  // as between hosts
    Crowd crowd;
    if (!crowd.ready) return;
    const Stranger stranger(crowd.a.address().gid);
    ASSERT_TRUE(crowd.exchange());
    for (const auto& target : crowd.targets) stranger.send_datagram(target->qp->qpn(), 64);
    const auto drops = [&] {
      std::uint64_t sum = 0;
      for (const auto& target : crowd.targets) sum += counted(*target, ib::Counter::drop_no_receive);
      return sum;
    };
    const TimePoint hangs = monotonic_now() + std::chrono::seconds(20);
    while (drops() < kTargets && monotonic_now() < hangs) ASSERT_TRUE(crowd.exchange());
    for (const auto& target : crowd.targets)
      EXPECT_EQ(counted(*target, ib::Counter::drop_no_receive), 1U) << "waited, and then was dropped";
  });
}

}  // namespace
}  // namespace softrnic::engine::test
