// MPA's set-up as Linux's soft iWARP driver did it: asked for the same, our initiator and responder write
// the same bytes, and each takes what the kernel's other side has sent.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>

#include "tests/golden/tcp_streams.h"
#include "transport/iwarp/mpa_initiator.h"
#include "transport/iwarp/mpa_responder.h"

namespace softrnic::iwarp {
namespace {

/// What a program of the kernel's side wanted, by the frame that came of it.
MpaOptions options_of(Bytes frame, wire::MpaFrameKind kind) {
  const auto parsed = wire::parse_mpa_frame(kind, frame.first(wire::kMpaFrameBytes));
  const auto enhanced = wire::parse_mpa_enhanced(frame.subspan(wire::kMpaFrameBytes));
  MpaOptions options;
  options.crc = parsed->crc;
  options.ird = enhanced.ird;
  options.ord = enhanced.ord;
  return options;
}

class SiwSetup : public ::testing::TestWithParam<std::filesystem::path> {
 protected:
  void exchange(Bytes request, Bytes reply) {
    const MpaOptions client = options_of(request, wire::MpaFrameKind::request);
    const MpaOptions server = options_of(reply, wire::MpaFrameKind::reply);
    MpaInitiator initiator(client, {}, TimePoint{});
    EXPECT_TRUE(std::ranges::equal(initiator.output(), request));
    MpaResponder responder(server, TimePoint{});
    responder.receive(request);
    ASSERT_EQ(responder.state(), MpaResponder::State::requested);
    EXPECT_EQ(responder.peer_ord(), client.ord);
    ASSERT_TRUE(responder.accept(server.ird, server.ord, {}));
    EXPECT_TRUE(std::ranges::equal(responder.output(), reply));
    EXPECT_EQ(initiator.receive(reply), testing::kSiwSetupBytes);
    EXPECT_EQ(initiator.state(), MpaInitiator::State::established);
    EXPECT_EQ(initiator.agreement().crc, client.crc);
    EXPECT_EQ(initiator.agreement().revision, 2);
  }
};

TEST_P(SiwSetup, IsOurs) {
  const auto streams = testing::tcp_streams(GetParam());
  int exchanges = 0;
  for (const auto& [direction, stream] : streams) {
    if (!stream.opened) continue;
    const auto other = streams.find(direction.reversed());
    ASSERT_NE(other, streams.end());
    exchange(Bytes(stream.bytes).first(testing::kSiwSetupBytes),
             Bytes(other->second.bytes).first(testing::kSiwSetupBytes));
    ++exchanges;
  }
  EXPECT_GT(exchanges, 0);
}

INSTANTIATE_TEST_SUITE_P(Captures, SiwSetup,
                         ::testing::ValuesIn(testing::captures_in(SOFTRNIC_GOLDEN_DIR,
                                                                  testing::Captured::siw)),
                         [](const auto& capture) { return testing::capture_test_name(capture.param); });

}  // namespace
}  // namespace softrnic::iwarp
