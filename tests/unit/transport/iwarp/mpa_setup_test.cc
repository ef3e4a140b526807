// Both sides of MPA's set-up against each other and against peers of all sorts.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/reason_id.h"
#include "transport/iwarp/mpa_initiator.h"
#include "transport/iwarp/mpa_responder.h"
#include "wire/crc32c.h"
#include "wire/terminate.h"

namespace softrnic::iwarp {
namespace {

using Initiator = MpaInitiator::State;
using Responder = MpaResponder::State;

constexpr TimePoint kStart{};

std::vector<std::byte> text(std::string_view words) {
  const auto* data = reinterpret_cast<const std::byte*>(words.data());
  return {data, data + words.size()};
}

/// Hands everything that `from` has to `to`, `piece` bytes at a time.
template <typename From, typename To>
void carry(From& from, To& to, std::size_t piece = 1000) {
  while (!from.output().empty()) {
    const Bytes bytes = from.output().first(std::min(piece, from.output().size()));
    const std::size_t taken = to.receive(bytes);
    from.sent(bytes.size());
    if (taken < bytes.size()) return;
  }
}

struct Pair {
  MpaInitiator initiator;
  MpaResponder responder;
  Pair(const MpaOptions& a, const MpaOptions& b, std::string_view hello = "hello")
      : initiator(a, text(hello), kStart), responder(b, kStart) {}
  void connect(std::size_t piece = 1000) {
    carry(initiator, responder, piece);
    if (responder.state() != Responder::requested) return;
    ASSERT_TRUE(responder.accept(4, 5, text("welcome")));
    carry(responder, initiator, piece);
  }
};

TEST(MpaSetup, ExchangesPrivateDataInAnyPieces) {
  for (const std::uint8_t revision : {std::uint8_t{1}, std::uint8_t{2}})
    for (std::size_t piece : {1, 2, 7, 19, 20, 21, 24, 1000}) {
      MpaOptions options;
      options.revision = revision;
      Pair pair(options, {});
      pair.connect(piece);
      EXPECT_EQ(pair.initiator.state(), Initiator::established);
      EXPECT_EQ(pair.responder.state(), Responder::established);
      EXPECT_EQ(text("hello"),
                std::vector(pair.responder.private_data().begin(), pair.responder.private_data().end()));
      EXPECT_EQ(text("welcome"),
                std::vector(pair.initiator.private_data().begin(), pair.initiator.private_data().end()));
      EXPECT_EQ(pair.initiator.agreement().revision, revision);
      EXPECT_EQ(pair.responder.agreement().revision, revision);
      EXPECT_EQ(pair.initiator.deadline(), kNever);
      EXPECT_EQ(pair.responder.deadline(), kNever);
    }
}

TEST(MpaSetup, CrcIsUsedIfEitherWantsIt) {
  for (bool a : {false, true})
    for (bool b : {false, true}) {
      MpaOptions first, second;
      first.crc = a;
      second.crc = b;
      Pair pair(first, second);
      pair.connect();
      EXPECT_EQ(pair.initiator.agreement().crc, a || b);
      EXPECT_EQ(pair.responder.agreement().crc, a || b);
    }
}

TEST(MpaSetup, MarkersGoToWhomWantsThem) {
  for (bool a : {false, true})
    for (bool b : {false, true}) {
      MpaOptions first, second;
      first.receive_markers = a;
      second.receive_markers = b;
      Pair pair(first, second);
      pair.connect();
      EXPECT_EQ(pair.initiator.agreement().markers_in, a);
      EXPECT_EQ(pair.initiator.agreement().markers_out, b);
      EXPECT_EQ(pair.responder.agreement().markers_in, b);
      EXPECT_EQ(pair.responder.agreement().markers_out, a);
    }
}

TEST(MpaSetup, LongFpdusNeedBoth) {
  for (bool a : {false, true})
    for (bool b : {false, true}) {
      MpaOptions first, second;
      first.long_fpdus = a;
      second.long_fpdus = b;
      Pair pair(first, second);
      pair.connect();
      EXPECT_EQ(pair.initiator.agreement().long_fpdus, a && b);
      EXPECT_EQ(pair.responder.agreement().long_fpdus, a && b);
    }
}

TEST(MpaSetup, ExtensionsNeedBoth) {
  for (bool a : {false, true})
    for (bool b : {false, true}) {
      MpaOptions first, second;
      first.extensions = a;
      second.extensions = b;
      Pair pair(first, second);
      pair.connect();
      EXPECT_EQ(pair.initiator.agreement().extensions, a && b);
      EXPECT_EQ(pair.responder.agreement().extensions, a && b);
    }
}

// As Linux's siw replies, which knows no RFC 7306.
TEST(MpaSetup, AReplyWithTheFlagsOfTheRequestAgreesToNoExtensions) {
  MpaOptions options;
  options.revision = 1;
  options.extensions = true;
  MpaInitiator initiator(options, {}, kStart);
  auto reply = std::vector(initiator.output().begin(), initiator.output().end());
  const auto key = text("MPA ID Rep Frame");
  std::copy(key.begin(), key.end(), reply.begin());
  initiator.receive(reply);
  EXPECT_EQ(initiator.state(), Initiator::established);
  EXPECT_FALSE(initiator.agreement().extensions);
}

// RFC 6581 9.1
TEST(MpaSetup, EachOrdIsWithinTheOthersIrd) {
  MpaOptions options;
  options.ird = 3;
  options.ord = 9;
  Pair pair(options, {});
  pair.connect();
  EXPECT_EQ(pair.responder.peer_ird(), 3);
  EXPECT_EQ(pair.responder.peer_ord(), 9);
  EXPECT_EQ(pair.responder.agreement().ord, 3);  // of the five that it wanted
  EXPECT_EQ(pair.responder.agreement().ird, 4);
  EXPECT_EQ(pair.initiator.agreement().ord, 4);
  EXPECT_EQ(pair.initiator.agreement().ird, 3);
}

TEST(MpaSetup, WithRevisionOneEachKeepsItsOwn) {
  MpaOptions options;
  options.revision = 1;
  options.ird = 3;
  options.ord = 9;
  Pair pair(options, {});
  pair.connect();
  EXPECT_EQ(pair.responder.peer_ird(), wire::kMpaNoLimit);
  EXPECT_EQ(pair.responder.agreement().ord, 5);
  EXPECT_EQ(pair.initiator.agreement().ord, 9);
}

TEST(MpaSetup, PeerToPeerAgreesOnTheMessageThatTells) {
  for (std::uint8_t first = 1; first < 8; ++first)
    for (std::uint8_t second = 1; second < 8; ++second) {
      MpaOptions a, b;
      a.peer_to_peer = true;
      a.rtr = first;
      b.rtr = second;
      Pair pair(a, b);
      pair.connect();
      if ((first & second) == 0 && (first & wire::kRtrWrite) == 0) {
        EXPECT_EQ(pair.initiator.state(), Initiator::failed);
        EXPECT_EQ(pair.initiator.reason().id, ReasonId::mpa_rtr);
        continue;
      }
      ASSERT_EQ(pair.initiator.state(), Initiator::established);
      const std::uint8_t rtr = pair.initiator.agreement().rtr;
      EXPECT_EQ(rtr, pair.responder.agreement().rtr);
      EXPECT_NE(rtr & first, 0);
      EXPECT_TRUE(pair.initiator.agreement().sends_rtr);
      EXPECT_EQ(pair.initiator.agreement().waits_for_peer, WaitForPeer::none);
      EXPECT_EQ(pair.responder.agreement().waits_for_peer, WaitForPeer::always);
    }
}

TEST(MpaSetup, ResponderWaitsAsItIsTold) {
  for (const WaitForPeer waits : {WaitForPeer::none, WaitForPeer::bounded, WaitForPeer::always}) {
    MpaOptions options;
    options.responder_waits = waits;
    Pair pair({}, options);
    pair.connect();
    EXPECT_EQ(pair.responder.agreement().waits_for_peer, waits);
    EXPECT_EQ(pair.responder.agreement().rtr, 0);
  }
}

TEST(MpaSetup, RejectBringsItsPrivateData) {
  Pair pair({}, {});
  carry(pair.initiator, pair.responder);
  ASSERT_TRUE(pair.responder.reject(text("no")));
  carry(pair.responder, pair.initiator, 5);
  EXPECT_EQ(pair.responder.state(), Responder::rejected);
  EXPECT_EQ(pair.initiator.state(), Initiator::rejected);
  EXPECT_EQ(pair.initiator.private_data().size(), 2U);
}

TEST(MpaSetup, PrivateDataHave512BytesLessFourOfRevisionTwo) {
  EXPECT_TRUE(check_private_data(std::vector<std::byte>(512), 1));
  EXPECT_EQ(check_private_data(std::vector<std::byte>(513), 1).error().id,
            ReasonId::mpa_private_data_too_long);
  EXPECT_TRUE(check_private_data(std::vector<std::byte>(508), 2));
  EXPECT_FALSE(check_private_data(std::vector<std::byte>(509), 2));
  Pair pair({}, {}, std::string(508, 'x'));
  carry(pair.initiator, pair.responder);
  EXPECT_FALSE(pair.responder.accept(1, 1, std::vector<std::byte>(509)));
  EXPECT_FALSE(pair.responder.reject(std::vector<std::byte>(509)));
  ASSERT_TRUE(pair.responder.accept(1, 1, std::vector<std::byte>(508)));
  carry(pair.responder, pair.initiator, 3);
  EXPECT_EQ(pair.initiator.private_data().size(), 508U);
  EXPECT_EQ(pair.responder.private_data().size(), 508U);
}

// RFC 5044 7.1.2: who does not know the revision closes; the other comes again with the one below.
TEST(MpaSetup, FallsBackToRevisionOne) {
  MpaOptions old;
  old.revision = 1;
  Pair pair({}, old);
  carry(pair.initiator, pair.responder);
  EXPECT_EQ(pair.responder.state(), Responder::failed);
  EXPECT_EQ(pair.responder.reason().id, ReasonId::mpa_revision);
  EXPECT_TRUE(pair.responder.output().empty());
  pair.initiator.stream_ended();
  EXPECT_EQ(pair.initiator.state(), Initiator::refused);
  MpaInitiator again(old, {}, kStart);
  again.stream_ended();
  EXPECT_EQ(again.state(), Initiator::failed);
}

TEST(MpaSetup, TakesAReplyOfRevisionOne) {
  MpaOptions one;
  one.revision = 1;
  Pair peer(one, {});
  peer.connect();
  MpaInitiator initiator({}, {}, kStart);
  MpaResponder responder({}, kStart);
  MpaInitiator plain(one, {}, kStart);
  carry(plain, responder);
  ASSERT_TRUE(responder.accept(1, 1, {}));
  carry(responder, initiator);
  EXPECT_EQ(initiator.state(), Initiator::established);
  EXPECT_EQ(initiator.agreement().revision, 1);
}

TEST(MpaSetup, TimesOut) {
  MpaOptions options;
  options.timeout = std::chrono::seconds(3);
  Pair pair(options, options);
  const TimePoint due = kStart + options.timeout;
  EXPECT_EQ(pair.initiator.deadline(), due);
  pair.initiator.expire(due - Duration(1));
  EXPECT_EQ(pair.initiator.state(), Initiator::waiting);
  pair.initiator.expire(due);
  pair.responder.expire(due);
  EXPECT_EQ(pair.initiator.reason().id, ReasonId::mpa_timeout);
  EXPECT_EQ(pair.responder.reason().id, ReasonId::mpa_timeout);
  EXPECT_EQ(pair.initiator.deadline(), kNever);
}

TEST(MpaSetup, AProgramMayTakeItsTimeToAccept) {
  Pair pair({}, {});
  carry(pair.initiator, pair.responder);
  EXPECT_EQ(pair.responder.deadline(), kNever);
  pair.responder.expire(kStart + std::chrono::hours(1));
  EXPECT_EQ(pair.responder.state(), Responder::requested);
}

// What a Terminate message that follows the reply looks like, with all that was negotiated.
void expect_terminate(Bytes bytes, wire::TerminateError error, bool crc, bool marker) {
  const std::size_t lead = marker ? wire::kMarkerBytes : 0;
  ASSERT_EQ(bytes.size(), lead + wire::fpdu_bytes(22));
  EXPECT_EQ(load_be16(bytes.data() + lead), 22);
  const auto message = wire::parse_terminate(bytes.subspan(lead + 2 + wire::kDdpUntaggedBytes, 4));
  EXPECT_EQ(message.error, static_cast<std::uint16_t>(error));
  std::uint32_t stored;
  std::memcpy(&stored, bytes.data() + bytes.size() - 4, sizeof stored);
  EXPECT_EQ(stored, crc ? ~wire::crc32c_update(wire::kCrc32cStart, bytes.first(bytes.size() - 4)) : 0);
}

TEST(MpaSetup, RefusesAPeerThatWantsMoreReadsThanThereIsRoomFor) {
  for (bool crc : {false, true})
    for (bool markers : {false, true}) {
      MpaOptions options, other;
      options.crc = crc;
      other.receive_markers = markers;
      Pair greedy({}, other);
      MpaOptions many;
      many.ird = 100;
      MpaInitiator open(many, {}, kStart);
      carry(open, greedy.responder);
      ASSERT_TRUE(greedy.responder.accept(1, 50, {}));
      MpaInitiator initiator(options, {}, kStart);
      initiator.sent(initiator.output().size());
      carry(greedy.responder, initiator);
      EXPECT_EQ(initiator.reason().id, ReasonId::mpa_ird);
      expect_terminate(initiator.output(), wire::TerminateError::mpa_insufficient_ird, crc, markers);
    }
}

TEST(MpaSetup, TakesNothingBehindTheReply) {
  Pair pair({}, {});
  carry(pair.initiator, pair.responder);
  ASSERT_TRUE(pair.responder.accept(1, 1, {}));
  std::vector<std::byte> bytes(pair.responder.output().begin(), pair.responder.output().end());
  const std::size_t frame = bytes.size();
  bytes.resize(frame + 100);
  EXPECT_EQ(pair.initiator.receive(bytes), frame);
  EXPECT_EQ(pair.initiator.receive(bytes), 0U);
}

TEST(MpaSetup, RefusesWhatComesBeforeTheReply) {
  Pair pair({}, {});
  std::vector<std::byte> bytes(pair.initiator.output().begin(), pair.initiator.output().end());
  bytes.push_back(std::byte{});
  EXPECT_EQ(pair.responder.receive(bytes), bytes.size());
  EXPECT_EQ(pair.responder.reason().id, ReasonId::mpa_early_data);
  Pair later({}, {});
  carry(later.initiator, later.responder);
  later.responder.receive(text("x"));
  EXPECT_EQ(later.responder.reason().id, ReasonId::mpa_early_data);
}

// A web browser at the port, and every single byte of a frame damaged.
TEST(MpaSetup, TellsStrangersAtTheirFirstWrongByte) {
  MpaResponder responder({}, kStart);
  responder.receive(text("MPA GET / HTTP/1.1"));
  EXPECT_EQ(responder.state(), Responder::failed);
  EXPECT_EQ(responder.reason().id, ReasonId::mpa_no_frame);
  MpaResponder early({}, kStart);
  early.receive(text("G"));
  EXPECT_EQ(early.state(), Responder::failed);
  for (std::size_t at = 0; at < 16; ++at) {
    MpaInitiator initiator({}, {}, kStart);
    std::vector<std::byte> bytes(initiator.output().begin(), initiator.output().end());
    bytes[at] ^= std::byte{1};
    MpaResponder each({}, kStart);
    EXPECT_EQ(each.receive(bytes), bytes.size());
    EXPECT_EQ(each.reason().id, ReasonId::mpa_no_frame);
  }
}

TEST(MpaSetup, EndsWithTheStream) {
  for (std::size_t came : {0, 1, 20, 24}) {
    Pair pair({}, {});
    pair.responder.receive(pair.initiator.output().first(came));
    pair.responder.stream_ended();
    EXPECT_EQ(pair.responder.state(), Responder::failed);
    EXPECT_EQ(pair.responder.reason().id, ReasonId::mpa_stream_ended);
  }
  Pair pair({}, {});
  carry(pair.initiator, pair.responder);
  ASSERT_TRUE(pair.responder.accept(1, 1, {}));
  pair.initiator.receive(pair.responder.output().first(3));
  pair.initiator.stream_ended();
  EXPECT_EQ(pair.initiator.state(), Initiator::failed);
}

}  // namespace
}  // namespace softrnic::iwarp
