// The FPDUs of Linux's soft iWARP driver through MpaReceiver, cut in every way, and back through MpaSender
// to the kernel's bytes; but for the pad, which is whatever stood in siw's memory, and the CRC over it.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/golden/tcp_streams.h"
#include "tests/unit/transport/iwarp/fpdu_ends.h"

namespace softrnic::iwarp {
namespace {

class SiwStream : public ::testing::TestWithParam<std::filesystem::path> {
 protected:
  void compare(Bytes kernel, Bytes ours) {
    ASSERT_EQ(kernel.size(), ours.size());
    while (!kernel.empty()) {
      const std::size_t ulpdu = load_be16(kernel.data());
      const std::size_t size = wire::fpdu_bytes(ulpdu);
      const bool padded = wire::fpdu_pad(ulpdu) > 0;
      const std::size_t same = padded ? wire::kFpduHeaderBytes + ulpdu : size;
      ASSERT_TRUE(std::ranges::equal(kernel.first(same), ours.first(same)));
      kernel = kernel.subspan(size);
      ours = ours.subspan(size);
    }
  }
};

TEST_P(SiwStream, ComesBackToTheByte) {
  const bool crc = GetParam().stem().string().find("crc") != std::string::npos;
  const auto streams = testing::tcp_streams(GetParam());
  ASSERT_GE(streams.size(), 2U);
  for (const auto& [direction, stream] : streams) {
    const Bytes fpdus = Bytes(stream.bytes).subspan(testing::kSiwSetupBytes);
    for (std::size_t cut : {std::size_t{1}, std::size_t{13}, std::size_t{1448}, fpdus.size()}) {
      test::ListSink sink;
      MpaReceiver receiver({crc, false, false}, sink);
      for (std::size_t at = 0; at < fpdus.size(); at += cut)
        ASSERT_TRUE(receiver.receive(fpdus.subspan(at, std::min(cut, fpdus.size() - at))));
      EXPECT_TRUE(receiver.between_fpdus());
      test::ListSource source(sink.segments);
      MpaSender sender({crc, false}, source);
      sender.set_max_ulpdu(wire::max_ulpdu(1448, false));  // as long as siw's are
      compare(fpdus, test::drain(sender));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Captures, SiwStream,
                         ::testing::ValuesIn(testing::captures_in(SOFTRNIC_GOLDEN_DIR,
                                                                  testing::Captured::siw)),
                         [](const auto& capture) { return testing::capture_test_name(capture.param); });

}  // namespace
}  // namespace softrnic::iwarp
