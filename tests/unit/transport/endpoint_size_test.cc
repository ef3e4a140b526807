// What a QP costs, and the largest messages: limits that would go unnoticed otherwise.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include "tests/script/fake_host.h"
#include "transport/ib/rc_endpoint.h"
#include "transport/ib/rx_packet.h"
#include "transport/ib/uc_endpoint.h"
#include "transport/ib/ud_endpoint.h"

namespace softrnic::ib {
namespace {

constexpr std::uint64_t kTwoGibibytes = 1ULL << 31;

Attributes attributes(std::uint32_t mtu) {
  Attributes a;
  a.path_mtu = mtu;
  a.access = 15;
  a.max_reads_in = a.max_reads_out = 16;
  a.send_psn = 0xfff000;
  return a;
}

TEST(EndpointSize, AnIdleQpIsSmall) {
  EXPECT_LE(sizeof(RcEndpoint), 1024U);
  EXPECT_LE(sizeof(UcEndpoint), 640U);
  EXPECT_LE(sizeof(UdEndpoint), 512U);
  test::FakeHost host;
  RcEndpoint rc(Qpn(1), {.send_wqes = 128, .send_sges = 1}, host);
  rc.start_responder(attributes(1024));
  RecordProperty("rc_object_bytes", static_cast<int>(sizeof(RcEndpoint)));
  RecordProperty("rc_heap_bytes", static_cast<int>(rc.heap_bytes()));
  EXPECT_LE(rc.heap_bytes(), 26U * 1024);
}

/// Memory of 2 GiB that costs nothing until it is written.
class Big : public ::testing::TestWithParam<std::uint32_t> {
 protected:
  Big() {
    void* p = mmap(nullptr, kTwoGibibytes, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    memory_ = p == MAP_FAILED ? nullptr : static_cast<std::byte*>(p);
    host_.regions[1] = {0, memory_, kTwoGibibytes, 15};
  }
  ~Big() override {
    if (memory_ != nullptr) munmap(memory_, kTwoGibibytes);
  }
  void post(SendOp op) {
    SendSlot slot = rc_.reserve();
    slot.wqe->op = op;
    slot.wqe->signaled = true;
    slot.wqe->length = static_cast<std::uint32_t>(kTwoGibibytes);
    slot.wqe->rkey = MemoryKey(1);
    slot.wqe->sge_count = 1;
    slot.sges[0] = {0, static_cast<std::uint32_t>(kTwoGibibytes), MemoryKey(1)};
    rc_.commit();
  }
  void acknowledge(std::uint32_t psn) {
    RxPacket rx;
    rx.packet.headers.bth.psn = psn;
    rx.packet.headers.aeth.syndrome = wire::kAckUnlimitedCredits;
    rx.packet.info = &wire::opcode_info(wire::Opcode::rc_acknowledge);
    rc_.receive(rx, TimePoint{});
  }

  test::FakeHost host_;
  std::byte* memory_;
  RcEndpoint rc_{Qpn(1), {.send_wqes = 4, .send_sges = 1}, host_};
};

// At 256 bytes the message has 2^23 packets, more than may be outstanding at once (IBTA 9.7.2).
TEST_P(Big, WriteOfTwoGibibytes) {
  if (memory_ == nullptr) GTEST_SKIP() << "no address space";
  const std::uint32_t mtu = GetParam();
  rc_.start_responder(attributes(mtu));
  rc_.start_requester(attributes(mtu));
  post(SendOp::write);
  TxPacket packet;
  std::uint64_t packets = 0;
  while (host_.sends.empty()) {
    if (rc_.transmit(packet, TimePoint{}) != Transmit::packet) {
      ASSERT_LT(packets, 1ULL << 23);
      acknowledge(packet.headers.bth.psn);
      continue;
    }
    ASSERT_EQ(packet.fragments[0].data, memory_ + packets * mtu);
    ASSERT_EQ(packet.headers.bth.psn, (0xfff000 + packets) & 0xffffff);
    ++packets;
    if (packet.headers.bth.opcode == wire::Opcode::rc_write_last) acknowledge(packet.headers.bth.psn);
  }
  EXPECT_EQ(packets, kTwoGibibytes / mtu);
  EXPECT_EQ(host_.sends[0].status, Status::success);
}

TEST_P(Big, ReadOfTwoGibibytesIsAnswered) {
  if (memory_ == nullptr) GTEST_SKIP() << "no address space";
  const std::uint32_t mtu = GetParam();
  rc_.start_responder(attributes(mtu));
  RxPacket rx;
  rx.packet.headers.reth = {0, MemoryKey(1), static_cast<std::uint32_t>(kTwoGibibytes)};
  rx.packet.info = &wire::opcode_info(wire::Opcode::rc_read_request);
  rc_.receive(rx, TimePoint{});
  TxPacket packet;
  std::uint64_t packets = 0;
  while (rc_.transmit(packet, TimePoint{}) == Transmit::packet) ++packets;
  EXPECT_EQ(packets, kTwoGibibytes / mtu);
  EXPECT_EQ(packet.headers.bth.opcode, wire::Opcode::rc_read_response_last);
  EXPECT_EQ(rc_.receive_psn(), (kTwoGibibytes / mtu) & 0xffffff);
}

// eight million packets take minutes, and have no more to check than half a million
#ifdef __SANITIZE_ADDRESS__
INSTANTIATE_TEST_SUITE_P(Mtu, Big, ::testing::Values(4096));
#else
INSTANTIATE_TEST_SUITE_P(Mtu, Big, ::testing::Values(256, 4096));
#endif

}  // namespace
}  // namespace softrnic::ib
