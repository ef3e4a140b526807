// QP1: the kernel's connection management packets in and out again, and what is no management datagram.
#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/reason_id.h"
#include "tests/support/pcap_reader.h"
#include "tests/unit/daemon/gsi_fixture.h"
#include "transport/ib/rx_packet.h"
#include "wire/fields.h"
#include "wire/frame.h"

namespace softrnic::daemon {
namespace {

namespace fs = std::filesystem;
using link::test::gid_of;
using ::testing::IsEmpty;

constexpr std::size_t kMadOffset = wire::kBthBytes + 8;  ///< behind BTH and DETH

/// A packet of QP1 as the kernel sent it.
struct Golden {
  wire::Flow flow;
  std::vector<std::byte> bytes;  ///< BTH to ICRC

  Bytes mad() const { return Bytes(bytes).subspan(kMadOffset, mad::kMadBytes); }
};

std::vector<Golden> golden_packets() {
  std::vector<Golden> out;
  for (const auto& entry : fs::directory_iterator(SOFTRNIC_GOLDEN_DIR)) {
    const std::string name = entry.path().filename();
    if (!name.starts_with("rxe-")) continue;
    const auto file = softrnic::testing::read_pcap(entry.path());
    if (!file) continue;
    for (const auto& bytes : file->packets) {
      const auto frame = wire::parse_frame(bytes);
      if (!frame || frame->headers.flow.destination_port != wire::kRoceUdpPort) continue;
      const Bytes payload = frame->udp_payload;
      if (payload.size() < kMadOffset ||
          wire::field::Bth::Destination::load(payload.data()) != mad::kGsiQpn.value)
        continue;
      out.push_back({frame->headers.flow, {payload.begin(), payload.end()}});
    }
  }
  return out;
}

/// A link whose packets are made and looked at by the test.
class FakeLink final : public link::Link {
 public:
  struct Sent {
    ib::AddressVector path;
    std::vector<std::byte> bytes;  ///< BTH to payload
  };

  void deliver(const wire::Flow& flow, Bytes bytes) {
    arrivals_.push_back({flow, {bytes.begin(), bytes.end()}});
  }
  std::vector<Sent> sent;
  std::vector<Sent> flushed;

  void set_tap(link::PacketTap*) override {}
  void send(const ib::TxPacket& packet, TimePoint) override {
    Sent& out = sent.emplace_back();
    out.path = *packet.path;
    out.bytes.resize(wire::kMaxHeaderBytes);
    out.bytes.resize(wire::encode(packet.headers, out.bytes));
    for (std::size_t i = 0; i < packet.fragment_count; ++i)
      out.bytes.insert(out.bytes.end(), packet.fragments[i].data,
                       packet.fragments[i].data + packet.fragments[i].size);
  }
  void send_damaged(const ib::TxPacket&, std::uint32_t, TimePoint) override {}
  void flush(TimePoint) override {
    flushed.insert(flushed.end(), sent.begin(), sent.end());
    sent.clear();
  }
  std::size_t receive(link::Receiver& receiver, TimePoint) override {
    const auto arrivals = std::exchange(arrivals_, {});
    for (const auto& [flow, bytes] : arrivals) {
      ib::RxPacket packet;
      EXPECT_TRUE(wire::parse_into(Bytes(bytes).first(bytes.size() - wire::kIcrcBytes), packet.packet));
      packet.source = flow.source;
      packet.destination = flow.destination;
      packet.traffic_class = flow.traffic_class;
      packet.hop_limit = flow.hop_limit;
      packet.flow_label = flow.flow_label;
      packet.interface_index = interface_index;
      receiver.packet(packet);
    }
    return arrivals.size();
  }
  bool has_packet(TimePoint) const override { return !arrivals_.empty(); }
  int readable_fd() const override { return -1; }
  void set_addresses(std::vector<device::GidEntry>) override {}
  bool join(const wire::Gid&, std::uint32_t) override { return false; }
  bool leave(const wire::Gid&, std::uint32_t) override { return false; }

  std::uint32_t interface_index = 0;

 private:
  std::vector<std::pair<wire::Flow, std::vector<std::byte>>> arrivals_;
};

class GsiTest : public GsiFixture {
 protected:
  void SetUp() override {
    GsiFixture::SetUp();
    auto fake = std::make_unique<FakeLink>();
    link_ = fake.get();
    gsi_.emplace(std::move(fake), page_);
    listen(*gsi_);
  }
  void receive(const wire::Flow& flow, Bytes bytes) {
    link_->deliver(flow, bytes);
    gsi_->receive(TimePoint{});
  }

  FakeLink* link_ = nullptr;
  std::optional<Gsi> gsi_;
};

TEST_F(GsiTest, TakesTheKernelsManagementDatagrams) {
  const auto packets = golden_packets();
  ASSERT_GE(packets.size(), 20U);
  for (const Golden& packet : packets) {
    gsi_->set_addresses({{packet.flow.destination, 7}});
    receive(packet.flow, packet.bytes);
    ASSERT_EQ(got_.size(), 1U);
    EXPECT_TRUE(std::ranges::equal(got_[0].mad, packet.mad()));
    mad::Address expected;
    expected.local = packet.flow.destination;
    expected.remote = packet.flow.source;
    expected.interface_index = 7;
    EXPECT_EQ(got_[0].from, expected);
    got_.clear();
  }
  EXPECT_EQ(counter(ib::Counter::rx_packets), packets.size());
  EXPECT_EQ(counter(ib::Counter::rx_bytes), packets.size() * mad::kMadBytes);
  EXPECT_THAT(explanations, IsEmpty());
}

TEST_F(GsiTest, SendsThemAsTheKernelDoes) {
  std::uint32_t psn = 0;
  for (const Golden& packet : golden_packets()) {
    mad::Address to;
    to.local = packet.flow.source;
    to.remote = packet.flow.destination;
    gsi_->send(to, packet.mad(), TimePoint{});
    gsi_->flush(TimePoint{});
    ASSERT_EQ(link_->flushed.size(), 1U);
    const FakeLink::Sent& sent = link_->flushed[0];
    EXPECT_EQ(sent.path.source, packet.flow.source);
    EXPECT_EQ(sent.path.destination, packet.flow.destination);
    EXPECT_EQ(sent.path.traffic_class, packet.flow.traffic_class);
    EXPECT_EQ(sent.path.hop_limit, packet.flow.hop_limit);
    EXPECT_EQ(sent.path.flow_label, packet.flow.flow_label);
    EXPECT_GE(sent.path.source_port, 0xc000);
    auto expected = packet.bytes;
    expected.resize(expected.size() - wire::kIcrcBytes);
    expected[1] |= std::byte{0x40};  // MigReq, as adapters of hardware send it
    wire::field::Bth::Psn::store(expected.data(), psn++);
    EXPECT_EQ(sent.bytes, expected);
    link_->flushed.clear();
  }
  EXPECT_EQ(counter(ib::Counter::tx_packets), psn);
}

// Peers choose their flow labels: if these chose the sockets, some strangers would use up
// all that a lane may have.
TEST_F(GsiTest, StrangersTakeFewSourcePortsAndNotAllTheSame) {
  const mad::Mad mad{};
  std::set<std::uint16_t> ports;
  for (std::uint32_t i = 1; i <= 1000; ++i) {
    mad::Address to;
    to.local = gid_of("::ffff:10.0.0.1");
    to.remote = wire::Gid::from_ipv4_be(i << 8 | 10);
    to.flow_label = i;
    gsi_->send(to, mad, TimePoint{});
    gsi_->flush(TimePoint{});
    ports.insert(link_->flushed.at(0).path.source_port);
    link_->flushed.clear();
  }
  EXPECT_LE(ports.size(), 16U);
  EXPECT_GT(ports.size(), 8U);
}

TEST_F(GsiTest, TheAddressDecidesHowAMadTravels) {
  mad::Address to;
  to.local = gid_of("fe80::1");
  to.remote = gid_of("fe80::2");
  to.interface_index = 9;
  to.traffic_class = 0x68;
  to.hop_limit = 0;  // none was given: the usual one
  to.flow_label = 0x12345;
  to.pkey = 0x7fff;
  to.qkey = 0x11;
  to.remote_qpn = Qpn(0x10002);
  const mad::Mad mad{};
  gsi_->send(to, mad, TimePoint{});
  EXPECT_THAT(link_->flushed, IsEmpty());
  gsi_->flush(TimePoint{});
  ASSERT_EQ(link_->flushed.size(), 1U);
  const FakeLink::Sent& sent = link_->flushed[0];
  EXPECT_EQ(sent.path.interface_index, 9U);
  EXPECT_EQ(sent.path.traffic_class, 0x68);
  EXPECT_EQ(sent.path.hop_limit, 64);
  EXPECT_EQ(sent.path.flow_label, 0x12345U);
  const auto packet = wire::parse(sent.bytes);
  ASSERT_TRUE(packet);
  EXPECT_EQ(packet->headers.bth.pkey, 0x7fff);
  EXPECT_EQ(packet->headers.bth.destination, to.remote_qpn);
  EXPECT_EQ(packet->headers.deth.qkey, 0x11U);
  EXPECT_EQ(packet->headers.deth.source, mad::kGsiQpn);
  EXPECT_FALSE(packet->headers.bth.solicited);
}

TEST_F(GsiTest, AHandlerAnswersWithinTheTurn) {
  gsi_->set_handler([&](const mad::Address& from, Bytes mad) { gsi_->send(from, mad, TimePoint{}); });
  const Golden packet = golden_packets().at(0);
  gsi_->set_addresses({{packet.flow.destination, 7}});
  receive(packet.flow, packet.bytes);
  ASSERT_EQ(link_->flushed.size(), 1U);
  EXPECT_EQ(link_->flushed[0].path.source, packet.flow.destination);
  EXPECT_EQ(link_->flushed[0].path.destination, packet.flow.source);
}

TEST_F(GsiTest, ALinkLocalAddressOfSeveralLinksIsToldApart) {
  Golden packet = golden_packets().at(0);
  packet.flow.destination = gid_of("fe80::1");
  gsi_->set_addresses({{gid_of("fe80::1"), 3}, {gid_of("fe80::1"), 4}});
  for (const std::uint32_t interface : {3U, 4U}) {
    link_->interface_index = interface;
    receive(packet.flow, packet.bytes);
    EXPECT_EQ(got_.back().from.interface_index, interface);
  }
  link_->interface_index = 1;  // the loopback: this host sent it itself
  receive(packet.flow, packet.bytes);
  EXPECT_EQ(got_.back().from.interface_index, 3U);
}

// ---- what is dropped

struct Damage {
  const char* name;
  void (*spoil)(wire::Flow&, std::vector<std::byte>&);
  ReasonId reason;
  ib::Counter counter;
  std::uint32_t qpn;  ///< that the explanation is about
};

void set_qpn(std::vector<std::byte>& bytes, std::uint32_t qpn) {
  wire::field::Bth::Destination::store(bytes.data(), qpn);
}

const Damage kDamages[] = {
    {"QKey", [](wire::Flow&, auto& bytes) { store_be32(bytes.data() + 12, 0x11111111); },
     ReasonId::mad_wrong_qkey, ib::Counter::drop_qkey, 1},
    {"PKey", [](wire::Flow&, auto& bytes) { store_be16(bytes.data() + 2, 0x8001); },
     ReasonId::drop_pkey_mismatch, ib::Counter::drop_pkey, 1},
    {"Opcode", [](wire::Flow&, auto& bytes) { bytes[0] = std::byte{0x65}; }, ReasonId::mad_wrong_service,
     ib::Counter::drop_service, 1},
    {"Length", [](wire::Flow&, auto& bytes) { bytes.resize(bytes.size() - 8); }, ReasonId::mad_wrong_length,
     ib::Counter::drop_length, 1},
    {"Gid", [](wire::Flow& flow, auto&) { flow.destination = gid_of("10.1.2.3"); }, ReasonId::mad_wrong_gid,
     ib::Counter::drop_unknown_qp, 1},
    {"Qp0", [](wire::Flow&, auto& bytes) { set_qpn(bytes, 0); }, ReasonId::drop_unknown_qpn,
     ib::Counter::drop_unknown_qp, 0},
    {"OtherQp", [](wire::Flow&, auto& bytes) { set_qpn(bytes, 0x090001); }, ReasonId::drop_unknown_qpn,
     ib::Counter::drop_unknown_qp, 0},
};

class GsiDrops : public GsiTest, public ::testing::WithParamInterface<Damage> {};

TEST_P(GsiDrops, AndSaysWhy) {
  Golden packet = golden_packets().at(0);
  gsi_->set_addresses({{packet.flow.destination, 7}});
  GetParam().spoil(packet.flow, packet.bytes);
  receive(packet.flow, packet.bytes);
  EXPECT_THAT(got_, IsEmpty());
  ASSERT_EQ(explanations.size(), 1U);
  EXPECT_EQ(explanations[0].reason.id, GetParam().reason) << describe(explanations[0].reason);
  EXPECT_EQ(explanations[0].qpn, GetParam().qpn);
  EXPECT_EQ(counter(GetParam().counter), 1U);
}

INSTANTIATE_TEST_SUITE_P(Each, GsiDrops, ::testing::ValuesIn(kDamages),
                         [](const auto& of) { return std::string(of.param.name); });

TEST_F(GsiTest, MulticastIsTheBusinessOfTheLanes) {
  Golden packet = golden_packets().at(0);
  set_qpn(packet.bytes, Qpn::kMulticast);
  receive(packet.flow, packet.bytes);
  EXPECT_THAT(got_, IsEmpty());
  EXPECT_THAT(explanations, IsEmpty());
  EXPECT_EQ(counter(ib::Counter::drop_unknown_qp), 0U);
}

TEST_F(GsiTest, ALimitedMemberOfThePartitionIsHeard) {
  Golden packet = golden_packets().at(0);
  gsi_->set_addresses({{packet.flow.destination, 7}});
  store_be16(packet.bytes.data() + 2, 0x7fff);
  receive(packet.flow, packet.bytes);
  EXPECT_EQ(got_.size(), 1U);
}

}  // namespace
}  // namespace softrnic::daemon
