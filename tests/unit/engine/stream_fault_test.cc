// iWARP over streams that are mistreated, and what a capture shows of them.
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <new>
#include <string>

#include "link/capture_file.h"
#include "tests/unit/engine/stream_fixture.h"

namespace softrnic::engine::test {
namespace {

constexpr std::uint32_t kMessageBytes = 300'000;

class Mistreated : public testing::Test {
 protected:
  void mistreat(const char* faults) {
    const auto plan = link::parse_fault_plan(faults);
    ASSERT_TRUE(plan) << plan.error();
    a.lane.set_stream_options({.ends = &a.ends, .tap = nullptr, .faults = *plan});
  }
  void connect(bool crc) {
    TcpPair sockets;
    at_a = &a.connect(sockets.a, start_of(crc));
    at_b = &b.connect(sockets.b, start_of(crc));
  }
  StreamHost::Request write() {
    return {.bytes = kMessageBytes, .to = b.address(1 << 20), .rkey = b.mr->key().value};
  }

  StreamHost a{true, 3}, b{true, 4};
  rnic::QueuePair* at_a = nullptr;
  rnic::QueuePair* at_b = nullptr;
};

TEST_F(Mistreated, PiecesAndPausesChangeNothing) {
  for (const bool crc : {false, true}) {
    mistreat("split=70%,stall=1%,seed=5");
    connect(crc);
    a.fill(0, kMessageBytes, crc ? 9 : 4);
    for (int i = 0; i < 4; ++i) a.post(*at_a, write());
    b.receive(*at_b, 0, 10);
    StreamHost::Request last = write();
    last.opcode = IBV_WR_SEND;
    last.bytes = 10;
    a.post(*at_a, last);
    for (int i = 0; i < 5; ++i) a.success();
    b.success();
    EXPECT_TRUE(std::equal(a.memory.begin(), a.memory.begin() + kMessageBytes, b.memory.begin() + (1 << 20)));
  }
}

/// A capture that finds no memory.
class TapWithoutMemory final : public link::StreamTap {
 public:
  void segment(wire::CaptureDirection, const wire::TcpHeaders&, std::span<const Bytes>) override {
    throw std::bad_alloc();
  }
  void flush_segments() override {}
};

TEST_F(Mistreated, ACaptureWithoutMemoryLosesNothingOfTheStream) {
  TapWithoutMemory tap;
  a.lane.set_stream_options({.ends = &a.ends, .tap = &tap, .faults = {}});
  b.lane.set_stream_options({.ends = &b.ends, .tap = &tap, .faults = {}});
  connect(false);
  a.fill(0, kMessageBytes, 6);
  for (int i = 0; i < 4; ++i) a.post(*at_a, write());
  b.receive(*at_b, 0, 10);
  StreamHost::Request last = write();
  last.opcode = IBV_WR_SEND;
  last.bytes = 10;
  a.post(*at_a, last);
  for (int i = 0; i < 5; ++i) a.success();
  b.success();
  EXPECT_TRUE(std::equal(a.memory.begin(), a.memory.begin() + kMessageBytes, b.memory.begin() + (1 << 20)));
  a.destroy(*at_a);
  b.destroy(*at_b);
}

TEST_F(Mistreated, ACrcFindsWhatIsDamaged) {
  mistreat("corrupt=100%");
  connect(true);
  a.post(*at_a, write());
  EXPECT_TRUE(b.reaches(*at_b, IBV_QPS_ERR));
  EXPECT_TRUE(a.reaches(*at_a, IBV_QPS_ERR));
  EXPECT_EQ(a.next_end(), 7U);
}

TEST_F(Mistreated, ACutIsTheEndForBoth) {
  mistreat("cut=100%");
  connect(false);
  a.post(*at_a, write());
  EXPECT_EQ(a.next().status, IBV_WC_WR_FLUSH_ERR);
  EXPECT_EQ(a.next_end(), 7U);
  EXPECT_EQ(b.next_end(), 7U);
}

std::string output_of(const std::string& command) {
  std::string out;
  std::array<char, 4096> buffer;
  FILE* const pipe = popen(command.c_str(), "r");
  while (pipe != nullptr && fgets(buffer.data(), buffer.size(), pipe) != nullptr) out += buffer.data();
  if (pipe != nullptr) pclose(pipe);
  return out;
}

std::size_t count_of(const std::string& text, const std::string& what) {
  std::size_t count = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++count;
  return count;
}

// The dissectors of MPA, DDP and RDMAP find what was sent, in either direction, and CRCs that are right.
TEST_F(Mistreated, TsharkUnderstandsACapture) {
  if (output_of("command -v tshark").empty()) GTEST_SKIP() << "tshark is not installed";
  char name[] = "/tmp/softrnic-stream-XXXXXX";
  const int fd = mkstemp(name);
  ASSERT_GE(fd, 0);
  close(fd);
  auto capture = link::CaptureFile::create(name);
  ASSERT_TRUE(capture);
  a.lane.set_stream_options({.ends = &a.ends, .tap = capture->get(), .faults = {}});
  TcpPair sockets(0, 1400);
  auto start = start_of(true);
  start.initiator = true;
  rnic::QueuePair& from = a.connect(sockets.a, start);
  rnic::QueuePair& to = b.connect(sockets.b, start_of(true));
  b.receive(to, 0, 100);
  StreamHost::Request request = write();
  request.bytes = 10'000;
  a.post(from, request);
  request.opcode = IBV_WR_RDMA_READ;
  a.post(from, request);
  request.opcode = IBV_WR_SEND;
  request.bytes = 100;
  a.post(from, request);
  for (int i = 0; i < 3; ++i) a.success();
  b.success();
  EXPECT_TRUE(from.close_stream());
  EXPECT_EQ(a.next_end(), 7U);
  const std::string text = output_of(std::string("tshark -n -V -r ") + name + " 2>/dev/null");
  EXPECT_EQ(count_of(text, "tcp:iwarp_mpa]"), 2U);  // request and reply
  EXPECT_GE(count_of(text, "OpCode: Write (0x0)"), 8U);
  EXPECT_EQ(count_of(text, "OpCode: Read Request (0x1)"), 1U);
  EXPECT_GE(count_of(text, "OpCode: Read Response (0x2)"), 8U);
  EXPECT_EQ(count_of(text, "OpCode: Send (0x3)"), 1U);
  EXPECT_EQ(count_of(text, "(Good CRC32)"), count_of(text, "OpCode: "));
  EXPECT_EQ(count_of(text, "Malformed"), 0U);
  EXPECT_EQ(count_of(text, "Previous segment not captured"), 0U);
  if (HasFailure()) std::fputs(output_of(std::string("tshark -n -r ") + name).c_str(), stderr);
  unlink(name);
}

}  // namespace
}  // namespace softrnic::engine::test
