// How connections end: by the peer's Terminate message, by a lost stream, by this side's program.
#include <gtest/gtest.h>

#include "base/reason_id.h"
#include "tests/unit/transport/iwarp/raw_peer.h"

namespace softrnic::iwarp::test {
namespace {

using ib::QpEvent;
using ib::SendOp;
using ib::Status;
using wire::RdmapOpcode;
using wire::TerminateError;

std::vector<std::byte> terminate(TerminateError error, std::optional<wire::DdpHeader> about = {}) {
  wire::Terminate message;
  message.error = static_cast<std::uint16_t>(error);
  message.ddp = about;
  if (about) message.segment_bytes = 46;
  std::vector<std::byte> body(wire::kMaxTerminateBytes);
  body.resize(wire::encode(message, body));
  return fpdu(header(RdmapOpcode::terminate), body);
}

TEST(IwarpEnd, APeersTerminateBlamesTheReadThatItIsAbout) {
  RawPeer peer;
  for (int i = 0; i < 4; ++i) peer.side.post({.op = i == 1 ? SendOp::write : SendOp::read, .length = 10});
  peer.read();
  peer.send(terminate(TerminateError::rdmap_access, header(RdmapOpcode::read_request, 2)));
  EXPECT_TRUE(
      completed(peer.side, {Status::flushed, Status::flushed, Status::remote_access, Status::flushed}));
  EXPECT_TRUE(peer.side.host.events.empty());
  EXPECT_EQ(peer.side.endpoint.ending(), Ending::terminated);
  EXPECT_EQ(peer.side.endpoint.wish(), StreamWish::close);
  EXPECT_TRUE(peer.side.host.explained(ReasonId::iwarp_terminated));
}

TEST(IwarpEnd, APeersTerminateAboutNothingIsAnEvent) {
  const std::pair<TerminateError, QpEvent> cases[] = {{TerminateError::ddp_stag, QpEvent::access_error},
                                                      {TerminateError::ddp_no_buffer, QpEvent::request_error},
                                                      {TerminateError::rdmap_access, QpEvent::access_error},
                                                      {TerminateError::rdmap_opcode, QpEvent::request_error},
                                                      {TerminateError::mpa_crc, QpEvent::fatal},
                                                      {TerminateError::ddp_catastrophic, QpEvent::fatal}};
  for (const auto& [error, event] : cases) {
    RawPeer peer;
    peer.side.receive(7, 0, 100);
    peer.side.post({.op = SendOp::read, .length = 10});
    peer.read();
    const bool about = wire::find_terminate_error(static_cast<std::uint16_t>(error))->headers !=
                       wire::TerminateHeaders::none;
    peer.send(terminate(error, about ? std::optional(header(RdmapOpcode::send)) : std::nullopt));
    EXPECT_TRUE(completed(peer.side, {Status::flushed}));
    EXPECT_EQ(peer.side.host.events, std::vector{event});
    EXPECT_TRUE(peer.read().empty());
  }
}

TEST(IwarpEnd, WorkRequestsThatCannotBeDoneEndTheConnection) {
  struct Case {
    Post post;
    Status status;
    ReasonId reason;
  };
  const Case cases[] = {
      {{.op = SendOp::send_with_imm, .length = 1}, Status::local_qp_operation, ReasonId::iwarp_no_operation},
      {{.op = SendOp::flush, .length = 0}, Status::local_qp_operation, ReasonId::iwarp_no_operation},
      {{.op = SendOp::atomic_write, .length = 8}, Status::local_qp_operation, ReasonId::iwarp_no_operation},
      {{.op = SendOp::read, .length = 100, .sges = 2}, Status::local_qp_operation, ReasonId::iwarp_read_sges},
      {{.op = SendOp::send, .length = 1, .lkey = MemoryKey(0x55)},
       Status::local_protection,
       ReasonId::lkey_unknown},
      {{.op = SendOp::write, .length = 500'000}, Status::local_protection, ReasonId::lkey_unknown},
      {{.op = SendOp::read, .length = 1, .lkey = MemoryKey(0x55)},
       Status::local_protection,
       ReasonId::lkey_unknown},
  };
  for (const Case& each : cases) {
    RawPeer peer;
    peer.side.post({.op = SendOp::write, .length = 10});
    peer.side.post(each.post);
    peer.side.post({.op = SendOp::write, .length = 10});
    const auto told = peer.terminated();
    EXPECT_TRUE(completed(peer.side, {Status::success, each.status, Status::flushed}));
    EXPECT_EQ(peer.side.host.sends[1].reason.id, each.reason);
    ASSERT_TRUE(told);
    EXPECT_EQ(told->error, static_cast<std::uint16_t>(TerminateError::rdmap_catastrophic));
  }
}

TEST(IwarpEnd, WithoutExtensionsOrReadsThoseAreRefused) {
  Attributes attributes = default_attributes();
  attributes.extensions = false;
  for (SendOp op : {SendOp::write_with_imm, SendOp::fetch_add, SendOp::compare_swap}) {
    RawPeer peer(attributes);
    peer.side.post({.op = op, .length = 8});
    peer.read();
    EXPECT_EQ(peer.side.host.sends.at(0).reason.id, ReasonId::iwarp_no_extensions);
  }
  MpaAgreement none = agreed();
  none.ord = 0;
  RawPeer peer(default_attributes(), none);
  peer.side.post({.op = SendOp::read, .length = 8});
  peer.read();
  EXPECT_EQ(peer.side.host.sends.at(0).reason.id, ReasonId::iwarp_no_reads);
}

TEST(IwarpEnd, WindowsThatCannotBeBoundEndTheConnection) {
  RawPeer peer;
  peer.side.host.windows_refuse = true;
  peer.side.post({.op = SendOp::bind_window});
  EXPECT_TRUE(peer.terminated());
  EXPECT_TRUE(completed(peer.side, {Status::window_bind}));
}

TEST(IwarpEnd, ASourceThatIsGoneCutsTheStream) {
  RawPeer peer;
  peer.side.post({.op = SendOp::write, .length = 5000});
  std::array<Bytes, 8> out;
  peer.side.endpoint.gather(out, peer.now);
  peer.side.endpoint.sent(100, peer.now);
  peer.side.host.regions.clear();
  EXPECT_EQ(peer.side.endpoint.gather(out, peer.now), 0U);
  EXPECT_EQ(peer.side.endpoint.ending(), Ending::lost);
  EXPECT_EQ(peer.side.endpoint.wish(), StreamWish::close);
  EXPECT_TRUE(peer.side.host.explained(ReasonId::iwarp_source_gone));
}

// Segments are made before the stream takes them. As long as none has begun the peer is told in words.
TEST(IwarpEnd, ASourceThatIsGoneBeforeItIsSentFailsItsRequest) {
  for (const bool crc : {false, true}) {
    RawPeer peer(default_attributes(), agreed(crc));
    peer.side.post({.op = SendOp::read, .length = 10});
    peer.side.post({.op = SendOp::write, .length = 500'000 / 8, .from = 8});
    peer.side.post({.op = SendOp::write, .length = 10});
    std::array<Bytes, 4> out;
    peer.read();
    peer.side.post({.op = SendOp::write, .length = 350'000, .from = 8});
    std::size_t first = 0;
    for (const Bytes piece : std::span(out).first(peer.side.endpoint.gather(out, peer.now)))
      first += piece.size();
    peer.side.host.regions.clear();
    if (crc) peer.side.endpoint.sent(first, peer.now);  // what is in its buffer is there
    EXPECT_TRUE(peer.terminated()) << crc;
    EXPECT_TRUE(
        completed(peer.side, {Status::flushed, Status::flushed, Status::flushed, Status::local_protection}))
        << crc;
    EXPECT_EQ(peer.side.host.sends.back().reason.id, ReasonId::lkey_unknown);
  }
}

TEST(IwarpEnd, AnAnswerWhoseMemoryIsGoneBeforeItIsSentIsRefused) {
  RawPeer peer;
  const wire::ReadRequest read{MemoryKey{9}, 0, 5000, kKey, kBase};
  peer.send(fpdu(header(RdmapOpcode::read_request), encoded<wire::kReadRequestBytes>(read)));
  std::array<Bytes, 8> out;
  EXPECT_NE(peer.side.endpoint.gather(out, peer.now), 0U);
  peer.side.host.regions.clear();
  const auto told = peer.terminated();
  ASSERT_TRUE(told && told->read);
  EXPECT_EQ(told->error, static_cast<std::uint16_t>(TerminateError::rdmap_stag));
}

TEST(IwarpEnd, AStreamThatEndsWithinAMessageIsLost) {
  wire::DdpHeader first = header(RdmapOpcode::send);
  first.last = false;
  const auto part = fpdu(first, std::vector<std::byte>(50));
  for (std::size_t cut = 1; cut <= part.size(); ++cut) {
    RawPeer peer;
    peer.side.receive(1, 0, 100);
    peer.send(Bytes(part).first(cut));
    peer.side.endpoint.stream_ended(StreamEnd::closed, peer.now);
    EXPECT_EQ(peer.side.endpoint.ending(), Ending::lost) << cut;
    EXPECT_TRUE(peer.side.host.explained(ReasonId::iwarp_cut_short));
    EXPECT_EQ(peer.side.host.recvs.size(), peer.side.host.taken);
  }
}

TEST(IwarpEnd, ABrokenStreamFlushesWhatIsPosted) {
  RawPeer peer;
  peer.side.post({.op = SendOp::write, .length = 10});
  peer.side.endpoint.stream_ended(StreamEnd::broken, peer.now);
  EXPECT_TRUE(completed(peer.side, {Status::flushed}));
  EXPECT_EQ(peer.side.endpoint.ending(), Ending::lost);
  peer.side.post({.op = SendOp::write, .length = 10});
  EXPECT_TRUE(completed(peer.side, {Status::flushed, Status::flushed}));
}

// Answers that the peer asks for all the time.
TEST(IwarpEnd, AnswersDoNotPutOffTheEndByABadRequest) {
  RawPeer peer;
  peer.side.post({.op = SendOp::write, .length = 10, .lkey = MemoryKey{0x99}});
  std::array<Bytes, 32> out;
  for (std::uint32_t msn = 1; msn < 20 && !peer.side.endpoint.in_error(); ++msn) {
    const wire::ReadRequest read{MemoryKey{9}, 0, 100, kKey, kBase};
    peer.send(fpdu(header(RdmapOpcode::read_request, msn), encoded<wire::kReadRequestBytes>(read)));
    std::size_t bytes = 0;
    for (const Bytes piece : std::span(out).first(peer.side.endpoint.gather(out, peer.now)))
      bytes += piece.size();
    peer.side.endpoint.sent(bytes, peer.now);
  }
  EXPECT_TRUE(peer.side.endpoint.in_error());
  EXPECT_TRUE(completed(peer.side, {Status::local_protection}));
}

TEST(IwarpEnd, RequestsDoNotPutOffTheEndByABadAnswer) {
  RawPeer peer;
  const wire::ReadRequest read{MemoryKey{9}, 0, 100, kKey, kBase};
  peer.send(fpdu(header(RdmapOpcode::read_request), encoded<wire::kReadRequestBytes>(read)));
  constexpr MemoryKey kOther{0x22};
  peer.side.host.regions[kOther.value] = peer.side.host.regions[kKey.value];
  peer.side.host.regions.erase(kKey.value);
  std::array<Bytes, 32> out;
  for (int i = 0; i < 20 && !peer.side.endpoint.in_error(); ++i) {
    peer.side.post({.op = SendOp::write, .length = 10, .lkey = kOther});
    std::size_t bytes = 0;
    for (const Bytes piece : std::span(out).first(peer.side.endpoint.gather(out, peer.now)))
      bytes += piece.size();
    peer.side.endpoint.sent(bytes, peer.now);
  }
  EXPECT_TRUE(peer.side.endpoint.in_error());
}

TEST(IwarpEnd, ATerminateThatNobodyReadsDoesNotWaitForEver) {
  RawPeer peer;
  peer.send(fpdu(header(RdmapOpcode::read_response), {}));
  EXPECT_EQ(peer.side.endpoint.phase(), Phase::terminating);
  peer.side.endpoint.expire(peer.side.endpoint.deadline());
  EXPECT_EQ(peer.side.endpoint.wish(), StreamWish::close);
}

TEST(IwarpEnd, FlushEndsEverythingAtOnce) {
  RawPeer peer;
  peer.side.receive(1, 0, 100);
  wire::DdpHeader first = header(RdmapOpcode::send);
  first.last = false;
  peer.send(fpdu(first, std::vector<std::byte>(50)));
  peer.side.post({.op = SendOp::write, .length = 10});
  peer.side.endpoint.flush();
  EXPECT_TRUE(completed(peer.side, {Status::flushed}));
  ASSERT_EQ(peer.side.host.recvs.size(), 1U);
  EXPECT_EQ(peer.side.host.recvs[0].status, Status::flushed);
  EXPECT_EQ(peer.side.endpoint.ending(), Ending::aborted);
  EXPECT_TRUE(peer.read().empty());
}

TEST(IwarpEnd, AfterAResetItBeginsAnew) {
  RawPeer peer;
  peer.side.post({.op = SendOp::read, .length = 10});
  peer.read();
  peer.side.endpoint.reset();
  EXPECT_TRUE(peer.side.host.sends.empty());
  EXPECT_EQ(peer.side.endpoint.outstanding_sends(), 0U);
  EXPECT_EQ(peer.side.endpoint.phase(), Phase::idle);
  EXPECT_TRUE(peer.read().empty());
  peer.side.endpoint.start(default_attributes(), agreed(), peer.now);
  peer.side.posted = 0;
  peer.side.post({.op = SendOp::write, .length = 10});
  EXPECT_FALSE(peer.read().empty());
  EXPECT_TRUE(completed(peer.side, {Status::success}));
}

}  // namespace
}  // namespace softrnic::iwarp::test
