// Datagrams of several packets that no requester makes, with the right ICRC: through the socket, into a queue
// pair.
#include <gtest/gtest.h>
#include <netinet/udp.h>

#include <cstring>

#include "base/reason_id.h"
#include "link/udp_link.h"
#include "tests/script/fake_host.h"
#include "tests/unit/link/link_fixture.h"
#include "transport/ib/endpoint.h"
#include "transport/ib/rx_packet.h"

namespace softrnic::link::test {
namespace {

using wire::Opcode;

constexpr std::uint32_t kMtu = 1024;
constexpr std::uint32_t kPsn = 5;
constexpr std::uint64_t kBase = 0x10000;
constexpr MemoryKey kKey{0x20};
constexpr Qpn kVictim{0x010002}, kPeer{0x020003};

struct Part {
  Opcode opcode;
  std::size_t payload;
};

/// A program with a UDP socket and nothing else.
class Stranger {
 public:
  Stranger(const std::string& address, std::uint16_t to_port)
      : fd_(bound_socket(address, 0, flow_.source_port, Family::inet)) {
    flow_.source = flow_.destination = gid_of(address);
    flow_.destination_port = to_port;
    const int discover = IP_PMTUDISC_DO;  // identification 0, which a train counts up from
    setsockopt(fd_, SOL_IP, IP_MTU_DISCOVER, &discover, sizeof discover);
  }
  ~Stranger() { close(fd_); }
  Stranger(const Stranger&) = delete;
  Stranger& operator=(const Stranger&) = delete;

  /// One datagram. All parts take up as much as the first one, pad included, but the last, which may be
  /// shorter.
  bool send(const std::vector<Part>& parts, std::uint32_t psn) {
    std::vector<std::byte> train;
    std::uint16_t segment = 0;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const auto packet = packet_of(parts[i], psn, static_cast<std::uint16_t>(i));
      if (i == 0) segment = static_cast<std::uint16_t>(packet.size());
      train.insert(train.end(), packet.begin(), packet.end());
    }
    SocketAddress to = to_socket_address(Family::inet, flow_.destination, flow_.destination_port, 0, 0);
    alignas(cmsghdr) std::byte control[CMSG_SPACE(sizeof segment)] = {};
    iovec piece{train.data(), train.size()};
    msghdr message{};
    message.msg_name = &to;
    message.msg_namelen = to.size();
    message.msg_iov = &piece;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_UDP;
    header->cmsg_type = UDP_SEGMENT;
    header->cmsg_len = CMSG_LEN(sizeof segment);
    std::memcpy(CMSG_DATA(header), &segment, sizeof segment);
    return sendmsg(fd_, &message, 0) == static_cast<ssize_t>(train.size());
  }

 private:
  std::vector<std::byte> packet_of(const Part& part, std::uint32_t psn, std::uint16_t position) const {
    wire::Headers headers;
    headers.bth.opcode = part.opcode;
    headers.bth.destination = kVictim;
    headers.bth.psn = psn + position;
    headers.bth.pad = wire::pad_for(part.payload);
    headers.reth = {kBase, kKey, 4 * kMtu};
    headers.aeth = {wire::kAckUnlimitedCredits, 1};
    std::vector<std::byte> out(wire::kMaxHeaderBytes);
    out.resize(wire::encode(headers, out));
    out.resize(out.size() + part.payload, static_cast<std::byte>('a' + position));
    out.resize(out.size() + headers.bth.pad);
    wire::Icrc icrc(flow_, out.size() + wire::kIcrcBytes, position);
    icrc.add_headers(out);
    const std::uint32_t value = icrc.value();
    const auto* bytes = reinterpret_cast<const std::byte*>(&value);
    out.insert(out.end(), bytes, bytes + sizeof value);
    return out;
  }

  wire::Flow flow_;
  int fd_;
};

/// A queue pair behind a lane's socket.
class HostileTrain : public ::testing::Test, public Receiver {
 protected:
  HostileTrain() {
    std::uint16_t port = 0;
    const int fd = bound_socket("127.0.0.1", 0, port, Family::inet);
    link_.emplace(UdpLink::Options{fd, port, port});
    stranger_.emplace("127.0.0.1", port);
    memory_ = std::make_unique<std::byte[]>(kMemory);
    host.regions[kKey.value] = {kBase, memory_.get(), kMemory, 0xf};
  }
  /// In RTS, with a receive of four packets and a READ of as much under way.
  void victim(ib::QpType type) {
    ib::Attributes attributes;
    attributes.local = kVictim;
    attributes.remote = kPeer;
    attributes.path.source = attributes.path.destination = gid_of("127.0.0.1");
    attributes.path_mtu = kMtu;
    attributes.send_psn = attributes.receive_psn = kPsn;
    attributes.access = 0xf;
    attributes.max_reads_out = attributes.max_reads_in = 1;
    endpoint = ib::make_endpoint(type, kVictim, ib::Capacity{8, 2, 0}, host);
    endpoint->start_responder(attributes);
    endpoint->start_requester(attributes);
    host.post_receive(100, {{kBase, 4 * kMtu, kKey}});
    if (type == ib::QpType::rc) read(4 * kMtu);
  }
  /// Sends the parts as one datagram and gives the queue pair what comes of it.
  void send(const std::vector<Part>& parts) {
    ASSERT_TRUE(stranger_->send(parts, psn_));
    psn_ += static_cast<std::uint32_t>(parts.size());
    for (arrived_ = 0; arrived_ < parts.size();) {
      pollfd entry{link_->readable_fd(), POLLIN, 0};
      ASSERT_EQ(poll(&entry, 1, 1000), 1) << arrived_ << " packets have come";
      link_->receive(*this, TimePoint{});
    }
  }
  bool told(ReasonId id) const {
    return std::any_of(host.reasons.begin(), host.reasons.end(),
                       [id](const Reason& reason) { return reason.id == id; });
  }

  ib::test::FakeHost host;
  std::unique_ptr<ib::Endpoint> endpoint;

 private:
  static constexpr std::size_t kMemory = 64 * 1024;

  void read(std::uint32_t length) {
    const ib::SendSlot slot = endpoint->reserve();
    slot.wqe->op = ib::SendOp::read;
    slot.wqe->length = length;
    slot.wqe->sge_count = 1;
    slot.sges[0] = {kBase, length, kKey};
    endpoint->commit();
    ib::TxPacket packet;
    ASSERT_EQ(endpoint->transmit(packet, TimePoint{}), ib::Transmit::packet);
  }
  void packet(const ib::RxPacket& rx) override {
    arrived_ += rx.packets;
    endpoint->receive(rx, TimePoint{});
  }
  void dropped(const Reason& reason, ib::Counter, Qpn, std::uint64_t packets) override {
    arrived_ += packets;
    host.reasons.push_back(reason);
  }

  std::optional<UdpLink> link_;
  std::optional<Stranger> stranger_;
  std::unique_ptr<std::byte[]> memory_;
  std::size_t arrived_ = 0;
  std::uint32_t psn_ = kPsn;
};

/// A row of packets of one message, each with that much payload.
std::vector<Part> row(Opcode first, Opcode middle, Opcode last, std::size_t payload, std::size_t count = 4) {
  std::vector<Part> parts(count, Part{middle, payload});
  parts.front().opcode = first;
  parts.back().opcode = last;
  return parts;
}

class HostileTrainOf : public HostileTrain, public ::testing::WithParamInterface<std::size_t> {};

TEST_P(HostileTrainOf, SendsIsRefusedByEachPacketsOwnLength) {
  victim(ib::QpType::rc);
  send(row(Opcode::rc_send_first, Opcode::rc_send_middle, Opcode::rc_send_last, GetParam()));
  EXPECT_TRUE(endpoint->in_error());
  EXPECT_TRUE(told(ReasonId::nak_length));
  EXPECT_TRUE(host.recvs.empty()) << "the first packet is refused, so it takes no receive";
}

TEST_P(HostileTrainOf, MiddlesIsRefusedByEachPacketsOwnLength) {
  victim(ib::QpType::rc);
  send(row(Opcode::rc_send_first, Opcode::rc_send_middle, Opcode::rc_send_middle, GetParam()));
  EXPECT_TRUE(told(ReasonId::nak_length));
}

// The first one has 16 bytes of RETH more than the others, so no train takes both.
TEST_P(HostileTrainOf, WritesIsRefusedByEachPacketsOwnLength) {
  victim(ib::QpType::rc);
  send({{Opcode::rc_write_first, kMtu}});
  ASSERT_FALSE(endpoint->in_error());
  send(row(Opcode::rc_write_middle, Opcode::rc_write_middle, Opcode::rc_write_last, GetParam(), 3));
  EXPECT_TRUE(told(ReasonId::nak_length));
}

TEST_P(HostileTrainOf, UcPacketsIsDroppedByEachPacketsOwnLength) {
  victim(ib::QpType::uc);
  send(row(Opcode::uc_send_first, Opcode::uc_send_middle, Opcode::uc_send_last, GetParam()));
  EXPECT_TRUE(told(ReasonId::nak_length));
  EXPECT_TRUE(host.recvs.empty());
  EXPECT_FALSE(endpoint->in_error());
}

TEST_P(HostileTrainOf, ReadResponsesIsABadResponse) {
  victim(ib::QpType::rc);
  send({{Opcode::rc_read_response_first, kMtu}});
  ASSERT_TRUE(host.sends.empty());
  send(row(Opcode::rc_read_response_middle, Opcode::rc_read_response_middle, Opcode::rc_read_response_middle,
           GetParam(), 3));
  ASSERT_FALSE(host.sends.empty());
  EXPECT_EQ(host.sends.front().status, ib::Status::bad_response);
}

INSTANTIATE_TEST_SUITE_P(Length, HostileTrainOf,
                         ::testing::Values(kMtu - 1, kMtu - 2, kMtu - 3, kMtu - 4, kMtu + 1, kMtu + 4,
                                           kMtu / 2, 1, 3),
                         ::testing::PrintToStringParamName());

// With the pad of the second one for payload the sum would be that of the READ.
TEST_F(HostileTrain, ResponsesWhoseSumIsRightAreRefusedAllTheSame) {
  victim(ib::QpType::rc);
  send({{Opcode::rc_read_response_first, kMtu}});
  send({{Opcode::rc_read_response_middle, kMtu + 1},
        {Opcode::rc_read_response_middle, kMtu + 1},
        {Opcode::rc_read_response_last, kMtu - 5}});
  ASSERT_FALSE(host.sends.empty());
  EXPECT_EQ(host.sends.front().status, ib::Status::bad_response);
}

TEST_F(HostileTrain, AGoodOneArrives) {
  victim(ib::QpType::rc);
  auto parts = row(Opcode::rc_send_first, Opcode::rc_send_middle, Opcode::rc_send_last, kMtu);
  parts.back().payload = 997;
  send(parts);
  ASSERT_EQ(host.recvs.size(), 1U);
  EXPECT_EQ(host.recvs.front().status, ib::Status::success);
  EXPECT_EQ(host.recvs.front().length, 3 * kMtu + 997);
}

}  // namespace
}  // namespace softrnic::link::test
