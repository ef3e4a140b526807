// FPDUs through MpaSender and MpaReceiver: every cut, with and without CRCs and markers, damaged and
// refused.
#include <gtest/gtest.h>

#include "tests/unit/transport/iwarp/fpdu_ends.h"

namespace softrnic::iwarp {
namespace {

using test::drain;
using test::ListSink;
using test::ListSource;
using test::make_segment;
using test::Segment;

struct Form {
  bool crc, markers, early;
};
constexpr Form kForms[] = {{false, false, false}, {true, false, false}, {true, false, true},
                           {false, true, false},  {true, true, false},  {true, true, true}};

std::vector<Segment> mixture() {
  std::vector<Segment> segments;
  unsigned seed = 0;
  for (std::size_t size : {0, 1, 2, 3, 4, 500, 507, 508, 509, 1442, 3000, 0, 9000, 60000, 65516, 5})
    for (bool tagged : {false, true})
      segments.push_back(make_segment(tagged, size > 65000 ? size - 700 : size, ++seed));
  return segments;
}

std::vector<std::byte> stream_of(const std::vector<Segment>& segments, const Form& form,
                                 std::size_t most = SIZE_MAX) {
  ListSource source(segments);
  MpaSender sender({form.crc, form.markers}, source);
  sender.set_max_ulpdu(wire::kMaxUlpduBytes);
  auto stream = drain(sender, most);
  EXPECT_EQ(source.sent, segments.size());
  EXPECT_TRUE(sender.idle());
  return stream;
}

TEST(MpaStream, ComesBackHoweverItIsCut) {
  const auto segments = mixture();
  for (const Form& form : kForms) {
    const auto stream = stream_of(segments, form);
    for (std::size_t cut : {1, 3, 511, 1448, 70'000, 1'000'000}) {
      ListSink sink;
      MpaReceiver receiver({form.crc, form.markers, form.early}, sink);
      for (Bytes rest = stream; !rest.empty();) {
        const Bytes piece = rest.first(std::min(cut, rest.size()));
        EXPECT_TRUE(receiver.receive(piece));
        rest = rest.subspan(piece.size());
      }
      EXPECT_TRUE(receiver.between_fpdus());
      EXPECT_EQ(sink.segments == segments, true) << cut << ' ' << form.crc << form.markers << form.early;
      EXPECT_EQ(sink.placed_early, 0U);
    }
  }
}

TEST(MpaStream, IsTheSameHoweverItIsTaken) {
  const auto segments = mixture();
  for (const Form& form : kForms) {
    const auto whole = stream_of(segments, form);
    for (std::size_t most : {1, 7, 1000, 65'536}) EXPECT_EQ(stream_of(segments, form, most) == whole, true);
  }
}

TEST(MpaStream, PayloadIsReadStraightToItsPlace) {
  const auto segments = mixture();
  for (const Form& form : kForms) {
    const auto stream = stream_of(segments, form);
    ListSink sink;
    MpaReceiver receiver({form.crc, form.markers, form.early}, sink);
    std::size_t direct = 0;
    unsigned step = 0;
    for (Bytes rest = stream; !rest.empty(); ++step) {
      const MutableBytes room = receiver.room();
      const std::size_t straight = std::min({room.size(), rest.size(), std::size_t{step % 5 * 300}});
      std::copy_n(rest.begin(), straight, room.begin());
      receiver.filled(straight);
      direct += straight;
      rest = rest.subspan(straight);
      const std::size_t piece = std::min<std::size_t>(rest.size(), 1 + step % 40);
      receiver.receive(rest.first(piece));
      rest = rest.subspan(piece);
    }
    EXPECT_EQ(sink.segments == segments, true);
    EXPECT_GT(direct, stream.size() / 2);
  }
}

// RFC 5044 4.3
TEST(MpaStream, MarkersStandAtEvery512thByteAndPointBack) {
  const auto segments = mixture();
  const auto stream = stream_of(segments, {false, true, false});
  std::vector<std::size_t> begins;
  std::vector<std::byte> plain = stream_of(segments, {false, false, false});
  std::size_t in_plain = 0, at = 0;
  std::size_t next_begin = 0;
  std::size_t begin = 0;
  while (at < stream.size()) {
    if (at % 512 == 0) {
      const std::size_t back = in_plain == next_begin ? 0 : at - begin;
      EXPECT_EQ(load_be32(&stream[at]), back);
      at += 4;
      continue;
    }
    if (in_plain == next_begin) {
      begin = at;
      next_begin += wire::fpdu_bytes(load_be16(&plain[in_plain]));
    }
    EXPECT_EQ(stream[at++], plain[in_plain++]);
  }
  EXPECT_EQ(in_plain, plain.size());
}

TEST(MpaStream, EveryDamagedByteIsNoticedByTheCrc) {
  const std::vector<Segment> segments{make_segment(true, 50, 1), make_segment(false, 601, 2)};
  for (const Form& form : kForms) {
    if (!form.crc) continue;
    const auto stream = stream_of(segments, form);
    const std::size_t first = wire::fpdu_bytes(64) + (form.markers ? 4 : 0);
    for (std::size_t at = 0; at < stream.size(); ++at)
      for (std::size_t cut : {std::size_t{5}, stream.size()}) {
        auto damaged = stream;
        damaged[at] ^= std::byte{0x40};
        ListSink sink;
        MpaReceiver receiver({form.crc, form.markers, form.early}, sink);
        for (std::size_t done = 0; done < damaged.size(); done += cut)
          receiver.receive(Bytes(damaged).subspan(done, std::min(cut, damaged.size() - done)));
        // a longer ULPDU has not come to its end; whoever closes the stream finds it cut
        EXPECT_TRUE(!sink.faults.empty() || !receiver.between_fpdus()) << at;
        EXPECT_EQ(sink.segments.size(), at < first ? 0U : 1U) << at;
        EXPECT_TRUE(form.early || sink.placed_early == 0) << at;
      }
  }
}

TEST(MpaStream, DamageIsFoundBeforeAnythingIsPlacedIfTheFpduIsWhole) {
  const std::vector<Segment> segments{make_segment(true, 5000, 1)};
  auto stream = stream_of(segments, {true, false, false});
  stream[3000] ^= std::byte{1};
  ListSink sink;
  MpaReceiver receiver({true, false, true}, sink);
  EXPECT_FALSE(receiver.receive(stream));
  EXPECT_EQ(sink.faults, std::vector{StreamFault::crc});
  EXPECT_EQ(sink.placed_early, 0U);
}

TEST(MpaStream, AWrongMarkerIsNoticed) {
  auto stream = stream_of({make_segment(true, 5000, 1)}, {false, true, false});
  stream[512 * 3 + 3] ^= std::byte{4};
  ListSink sink;
  MpaReceiver receiver({false, true, false}, sink);
  EXPECT_FALSE(receiver.receive(stream));
  EXPECT_EQ(sink.faults, std::vector{StreamFault::marker});
}

TEST(MpaStream, AUlpduShorterThanItsHeaderIsAFault) {
  for (std::size_t ulpdu = 1; ulpdu < wire::kMaxDdpBytes; ++ulpdu)
    for (std::byte control : {std::byte{0}, std::byte{0x80}})
      for (std::size_t cut : {1, 100}) {
        std::vector<std::byte> stream(wire::fpdu_bytes(ulpdu));
        store_be16(stream.data(), static_cast<std::uint16_t>(ulpdu));
        stream[2] = control;
        ListSink sink;
        MpaReceiver receiver({}, sink);
        for (std::size_t done = 0; done < stream.size(); done += cut)
          receiver.receive(Bytes(stream).subspan(done, std::min(cut, stream.size() - done)));
        EXPECT_EQ(!sink.faults.empty(), ulpdu < wire::ddp_bytes(control)) << ulpdu;
      }
}

TEST(MpaStream, AnEmptyUlpduIsASegmentWithoutHeader) {
  for (std::size_t cut : {1, 8}) {
    const std::vector<std::byte> stream(wire::fpdu_bytes(0));
    ListSink sink;
    MpaReceiver receiver({}, sink);
    for (std::size_t done = 0; done < stream.size(); done += cut)
      receiver.receive(Bytes(stream).subspan(done, cut));
    EXPECT_EQ(sink.segments, std::vector<Segment>(1));
    EXPECT_TRUE(receiver.between_fpdus());
  }
}

TEST(MpaStream, StopsWhereTheSinkSaysSo) {
  const auto segments = mixture();
  const auto stream = stream_of(segments, {false, false, false});
  for (std::size_t cut : {std::size_t{1}, stream.size()}) {
    ListSink sink;
    sink.refuse_at = 5;
    MpaReceiver receiver({}, sink);
    bool goes_on = true;
    for (std::size_t done = 0; done < stream.size(); done += cut)
      goes_on = receiver.receive(Bytes(stream).subspan(done, cut));
    EXPECT_FALSE(goes_on);
    EXPECT_TRUE(receiver.stopped());
    EXPECT_EQ(sink.segments.size(), 5U);
    EXPECT_TRUE(receiver.room().empty());
  }
}

TEST(MpaStream, PayloadThatIsGoneBreaksTheStreamBehindWhatIsBefore) {
  for (const Form& form : kForms) {
    ListSource source({make_segment(true, 50, 1), make_segment(true, 60, 2), make_segment(true, 70, 3)});
    source.gone = 1;
    MpaSender sender({form.crc, form.markers}, source);
    sender.set_max_ulpdu(1442);
    const auto stream = drain(sender);
    EXPECT_EQ(source.sent, 1U);
    EXPECT_TRUE(sender.broken());
    ListSink sink;
    MpaReceiver receiver({form.crc, form.markers, false}, sink);
    EXPECT_TRUE(receiver.receive(stream));
    EXPECT_EQ(sink.segments.size(), 1U);
    EXPECT_TRUE(receiver.between_fpdus());
  }
}

TEST(MpaStream, PassingBytesEndAGathering) {
  ListSource source({make_segment(true, 50, 1), make_segment(true, 60, 2)});
  source.passing = true;
  MpaSender sender({}, source);
  sender.set_max_ulpdu(1442);
  std::array<Bytes, 16> out;
  EXPECT_EQ(sender.gather(out), 3U);
}

}  // namespace
}  // namespace softrnic::iwarp
