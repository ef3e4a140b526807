// Whatever a peer may do wrong: the Terminate message that it is told so by, and what the program is told.
#include <gtest/gtest.h>

#include <functional>

#include "tests/unit/transport/iwarp/raw_peer.h"

namespace softrnic::iwarp::test {
namespace {

using ib::QpEvent;
using ib::SendOp;
using ib::Status;
using wire::RdmapOpcode;
using wire::TerminateError;

const std::vector<std::byte> kBytes(100);

std::vector<std::byte> read_request(std::uint32_t msn, std::uint64_t from, std::uint32_t size,
                                    MemoryKey key = kKey) {
  return fpdu(header(RdmapOpcode::read_request, msn),
              encoded<wire::kReadRequestBytes>(wire::ReadRequest{MemoryKey(9), 0, size, key, from}));
}

std::vector<std::byte> atomic_request(const wire::AtomicRequest& request) {
  return fpdu(header(RdmapOpcode::atomic_request), encoded<wire::kAtomicRequestBytes>(request));
}

wire::AtomicRequest fetch_add() {
  wire::AtomicRequest request;
  request.stag = kKey;
  request.offset = kBase;
  return request;
}

struct Case {
  const char* name;
  TerminateError error;
  std::optional<QpEvent> event;
  std::function<void(RawPeer&)> act;
};

template <typename Change>
auto with(RdmapOpcode opcode, Change change) {
  return [opcode, change](RawPeer& peer) {
    wire::DdpHeader h = header(opcode);
    change(h);
    peer.send(fpdu(h, kBytes));
  };
}

const Case kCases[] = {
    {"DdpVersionTagged", TerminateError::ddp_tagged_version, QpEvent::fatal,
     with(RdmapOpcode::write, [](auto& h) { h.ddp_version = 2; })},
    {"DdpVersionUntagged", TerminateError::ddp_untagged_version, QpEvent::fatal,
     with(RdmapOpcode::send, [](auto& h) { h.ddp_version = 0; })},
    {"RdmapVersion", TerminateError::rdmap_version, QpEvent::fatal,
     with(RdmapOpcode::send, [](auto& h) { h.rdmap_version = 0; })},
    {"UnknownOpcode", TerminateError::rdmap_opcode, QpEvent::fatal,
     with(RdmapOpcode::send, [](auto& h) { h.opcode = 12; })},
    {"TaggedSend", TerminateError::rdmap_opcode, QpEvent::fatal,
     with(RdmapOpcode::write, [](auto& h) { h.opcode = 3; })},
    {"UntaggedWrite", TerminateError::rdmap_opcode, QpEvent::fatal,
     with(RdmapOpcode::send, [](auto& h) { h.opcode = 0; })},
    {"NoSuchQueue", TerminateError::ddp_queue, QpEvent::fatal,
     with(RdmapOpcode::send, [](auto& h) { h.queue = 4; })},
    {"WrongQueue", TerminateError::ddp_queue, QpEvent::fatal,
     with(RdmapOpcode::send, [](auto& h) { h.queue = 1; })},
    {"MsnAhead", TerminateError::ddp_msn_range, QpEvent::fatal,
     with(RdmapOpcode::send, [](auto& h) { h.msn = 2; })},
    {"MsnBehind", TerminateError::ddp_msn_range, QpEvent::fatal,
     with(RdmapOpcode::send, [](auto& h) { h.msn = 0; })},
    {"MessageOffset", TerminateError::ddp_message_offset, QpEvent::fatal,
     with(RdmapOpcode::send, [](auto& h) { h.message_offset = 4; })},
    {"WriteWrongStag", TerminateError::ddp_stag, QpEvent::access_error,
     with(RdmapOpcode::write, [](auto& h) { h.stag = MemoryKey(0x99); })},
    {"WriteOutside", TerminateError::ddp_bounds, QpEvent::access_error,
     with(RdmapOpcode::write, [](auto& h) { h.offset = kBase + kRegion - 99; })},
    {"WriteWraps", TerminateError::ddp_bounds, QpEvent::access_error,
     with(RdmapOpcode::write, [](auto& h) { h.offset = ~std::uint64_t{0} - 4; })},
    {"NoReceive", TerminateError::ddp_no_buffer, QpEvent::request_error,
     [](RawPeer& peer) {
       for (std::uint32_t msn = 1; msn <= 3; ++msn) peer.send(fpdu(header(RdmapOpcode::send, msn), kBytes));
     }},
    {"ImmediateWithoutReceive", TerminateError::ddp_no_buffer, QpEvent::request_error,
     [](RawPeer& peer) {
       for (std::uint32_t msn = 1; msn <= 3; ++msn)
         peer.send(fpdu(header(RdmapOpcode::immediate, msn), encoded<8>(wire::ImmediateData{})));
     }},
    {"ImmediateTooLong", TerminateError::ddp_too_long, QpEvent::request_error,
     with(RdmapOpcode::immediate, [](auto&) {})},
    {"ReadRequestTooShort", TerminateError::rdmap_operation_unspecified, QpEvent::request_error,
     [](RawPeer& peer) { peer.send(fpdu(header(RdmapOpcode::read_request), Bytes(kBytes).first(27))); }},
    {"ReadRequestInParts", TerminateError::rdmap_operation_unspecified, QpEvent::request_error,
     [](RawPeer& peer) {
       wire::DdpHeader h = header(RdmapOpcode::read_request);
       h.last = false;
       peer.send(fpdu(h, Bytes(kBytes).first(28)));
     }},
    {"ReadWrongKey", TerminateError::rdmap_stag, QpEvent::access_error,
     [](RawPeer& peer) { peer.send(read_request(1, kBase, 8, MemoryKey(0x98))); }},
    {"ReadOutside", TerminateError::rdmap_bounds, QpEvent::access_error,
     [](RawPeer& peer) { peer.send(read_request(1, kBase - 1, 8)); }},
    {"ReadNotAllowed", TerminateError::rdmap_access, QpEvent::access_error,
     [](RawPeer& peer) {
       peer.side.host.regions[kKey.value].access = ib::kRemoteWrite;
       peer.send(read_request(1, kBase, 8));
     }},
    {"ReadRequestMsn", TerminateError::ddp_msn_range, QpEvent::fatal,
     [](RawPeer& peer) { peer.send(read_request(2, kBase, 8)); }},
    {"TooManyReads", TerminateError::ddp_no_buffer, QpEvent::request_error,
     [](RawPeer& peer) {
       for (std::uint32_t msn = 1; msn <= 5; ++msn) peer.send(read_request(msn, kBase, 8));
     }},
    {"AtomicUnaligned", TerminateError::rdmap_stream_catastrophic, QpEvent::request_error,
     [](RawPeer& peer) {
       wire::AtomicRequest request = fetch_add();
       request.offset += 4;
       peer.send(atomic_request(request));
     }},
    {"AtomicUnknown", TerminateError::rdmap_stream_catastrophic, QpEvent::request_error,
     [](RawPeer& peer) {
       wire::AtomicRequest request = fetch_add();
       request.code = 1;
       peer.send(atomic_request(request));
     }},
    {"AtomicMasked", TerminateError::rdmap_stream_catastrophic, QpEvent::request_error,
     [](RawPeer& peer) {
       wire::AtomicRequest request = fetch_add();
       request.add_or_swap_mask = 0x80000000;
       peer.send(atomic_request(request));
     }},
    {"AtomicWordTaken", TerminateError::rdmap_stream_catastrophic, QpEvent::request_error,
     [](RawPeer& peer) {
       peer.side.host.words_taken = true;
       peer.send(atomic_request(fetch_add()));
     }},
    {"AtomicOutside", TerminateError::rdmap_bounds, QpEvent::access_error,
     [](RawPeer& peer) {
       wire::AtomicRequest request = fetch_add();
       request.offset += 8 * kRegion;
       peer.send(atomic_request(request));
     }},
    {"ReadResponseUnasked", TerminateError::ddp_stag, QpEvent::fatal,
     with(RdmapOpcode::read_response, [](auto&) {})},
    {"AtomicResponseUnasked", TerminateError::ddp_no_buffer, QpEvent::fatal,
     [](RawPeer& peer) {
       peer.send(fpdu(header(RdmapOpcode::atomic_response), encoded<12>(wire::AtomicResponse{})));
     }},
    {"SegmentTooShort", TerminateError::mpa_marker, QpEvent::fatal,
     [](RawPeer& peer) { peer.send(fpdu(Bytes(kBytes).first(17), {})); }},
    {"EmptyUlpdu", TerminateError::mpa_marker, QpEvent::fatal,
     [](RawPeer& peer) { peer.send(fpdu(Bytes{}, {})); }},
    {"SendWithinAnother", TerminateError::rdmap_opcode, QpEvent::fatal,
     [](RawPeer& peer) {
       wire::DdpHeader h = header(RdmapOpcode::send);
       h.last = false;
       peer.send(fpdu(h, kBytes));
       h = header(RdmapOpcode::send_solicited);
       h.message_offset = 100;
       peer.send(fpdu(h, kBytes));
     }},
    {"ReceiveTooShort", TerminateError::ddp_too_long, std::nullopt,
     [](RawPeer& peer) { peer.send(fpdu(header(RdmapOpcode::send), std::vector<std::byte>(1001))); }},
    {"InvalidateOfNothing", TerminateError::rdmap_cannot_invalidate, std::nullopt,
     with(RdmapOpcode::send_invalidate, [](auto& h) { h.ulp = 0x1234; })},
    {"ReceiveMemoryGone", TerminateError::ddp_catastrophic, std::nullopt,
     [](RawPeer& peer) {
       peer.side.host.regions[kKey.value].access = 0;
       peer.send(fpdu(header(RdmapOpcode::send), kBytes));
     }},
};

class Refusal : public ::testing::TestWithParam<Case> {};

TEST_P(Refusal, IsToldByATerminateMessage) {
  RawPeer peer;
  peer.side.receive(1, 0, 1000);
  peer.side.receive(2, 0, 1000);
  GetParam().act(peer);
  peer.now += kReceivePatience;
  peer.side.endpoint.expire(peer.now);
  EXPECT_EQ(peer.side.endpoint.phase(), Phase::terminating);
  EXPECT_TRUE(peer.side.endpoint.in_error());
  EXPECT_FALSE(peer.side.host.reasons.empty());
  const auto terminate = peer.terminated();
  ASSERT_TRUE(terminate);
  EXPECT_EQ(terminate->error, static_cast<std::uint16_t>(GetParam().error))
      << wire::find_terminate_error(terminate->error)->text;
  const auto headers = wire::find_terminate_error(terminate->error)->headers;
  EXPECT_EQ(terminate->ddp.has_value(), headers != wire::TerminateHeaders::none);
  const auto& events = peer.side.host.events;
  EXPECT_EQ(events, GetParam().event ? std::vector{*GetParam().event} : std::vector<QpEvent>());
  // and that is the end of it
  peer.send(kBytes);
  EXPECT_EQ(peer.side.endpoint.wish(), StreamWish::shut_down);
  peer.side.endpoint.shut_down_done(peer.now);
  EXPECT_EQ(peer.side.endpoint.wish(), StreamWish::none);
  peer.side.endpoint.stream_ended(StreamEnd::closed, peer.now);
  EXPECT_EQ(peer.side.endpoint.wish(), StreamWish::close);
  EXPECT_EQ(peer.side.endpoint.ending(), Ending::refused);
}

INSTANTIATE_TEST_SUITE_P(Hostile, Refusal, ::testing::ValuesIn(kCases),
                         [](const auto& param) { return param.param.name; });

/// A READ of 100 bytes is out, and the answer is what `change` makes of the right one.
template <typename Change>
void answer(RawPeer& peer, Change change, std::size_t size = 100) {
  peer.side.post({.op = SendOp::read, .length = 100, .from = 500});
  peer.read();
  wire::DdpHeader h = header(RdmapOpcode::read_response);
  h.offset = kBase + 500;
  change(h);
  peer.send(fpdu(h, std::vector<std::byte>(size)));
}

// Whatever else is wrong with it: the peer has given up.
TEST(IwarpTerminate, IsTakenInEveryForm) {
  const std::vector<std::byte> long_one(200);
  for (const Bytes payload : {Bytes(), Bytes(long_one)}) {
    for (const std::uint32_t msn : {1U, 7U}) {
      RawPeer peer;
      peer.send(fpdu(header(RdmapOpcode::terminate, msn), payload));
      EXPECT_EQ(peer.side.endpoint.ending(), Ending::terminated);
      EXPECT_FALSE(peer.terminated());
    }
  }
}

// siw says the size in place of the number.
TEST(IwarpTerminate, NamesAReadByWhatItReads) {
  for (const std::uint32_t msn : {1U, 2U, 30U}) {
    RawPeer peer;
    peer.side.post({.op = ib::SendOp::read, .length = 10, .from = 100, .to = 500});
    peer.side.post({.op = ib::SendOp::read, .length = 30, .from = 200, .to = 600});
    const auto stream = peer.read();
    const std::size_t second = wire::fpdu_bytes(load_be16(stream.data()));
    const Bytes ulpdu = Bytes(stream).subspan(second + 2, load_be16(&stream[second]));
    wire::Terminate message = wire::terminate_about(TerminateError::rdmap_stag, ulpdu, ulpdu.size());
    ASSERT_TRUE(message.ddp && message.read);
    message.ddp->msn = msn;
    std::array<std::byte, wire::kMaxTerminateBytes> bytes;
    peer.send(fpdu(header(RdmapOpcode::terminate), Bytes(bytes).first(wire::encode(message, bytes))));
    EXPECT_TRUE(completed(peer.side, {Status::flushed, Status::remote_access})) << msn;
  }
}

TEST(IwarpReadResponse, HasTheSinkThatWasAskedFor) {
  RawPeer good;
  answer(good, [](auto&) {});
  EXPECT_TRUE(completed(good.side, {Status::success}));
  RawPeer stag;
  answer(stag, [](auto& h) { h.stag = MemoryKey(1); });
  EXPECT_EQ(stag.terminated()->error, static_cast<std::uint16_t>(TerminateError::ddp_stag));
  EXPECT_TRUE(completed(stag.side, {Status::flushed}));
  RawPeer beside;
  answer(beside, [](auto& h) { ++h.offset; });
  EXPECT_EQ(beside.terminated()->error, static_cast<std::uint16_t>(TerminateError::ddp_bounds));
  EXPECT_TRUE(completed(beside.side, {Status::bad_response}));
  for (std::size_t size : {99, 101}) {
    RawPeer length;
    answer(
        length, [](auto&) {}, size);
    EXPECT_TRUE(completed(length.side, {Status::bad_response})) << size;
  }
  RawPeer parts;
  answer(parts, [](auto& h) { h.last = false; });
  EXPECT_TRUE(parts.side.host.sends.empty());
  wire::DdpHeader end = header(RdmapOpcode::read_response);
  end.offset = kBase + 600;
  parts.send(fpdu(end));
  EXPECT_TRUE(completed(parts.side, {Status::success}));
}

TEST(IwarpReadResponse, BeforeItsRequestHasLeftIsUnasked) {
  RawPeer peer;
  peer.side.post({.op = SendOp::read, .length = 100});
  std::array<Bytes, 8> out;
  peer.side.endpoint.gather(out, peer.now);
  peer.send(fpdu(header(RdmapOpcode::read_response), kBytes));
  EXPECT_EQ(peer.side.endpoint.phase(), Phase::terminating);
}

TEST(IwarpReadResponse, ForASinkThatIsGoneFailsTheRead) {
  RawPeer peer;
  peer.side.post({.op = SendOp::read, .length = 100});
  peer.read();
  peer.side.host.regions.clear();
  peer.send(fpdu(header(RdmapOpcode::read_response), kBytes));
  EXPECT_TRUE(completed(peer.side, {Status::local_protection}));
}

TEST(IwarpRefusal, OfAReadWhoseMemoryIsGoneNamesItsRequest) {
  RawPeer peer;
  peer.send(read_request(1, kBase, 100'000));
  std::array<Bytes, 8> out;
  const std::size_t count = peer.side.endpoint.gather(out, peer.now);
  std::size_t bytes = 0;
  for (const Bytes piece : std::span(out).first(count)) bytes += piece.size();
  peer.side.endpoint.sent(bytes, peer.now);
  peer.side.host.regions.clear();
  const auto terminate = peer.terminated();
  ASSERT_TRUE(terminate && terminate->read && terminate->ddp);
  EXPECT_EQ(terminate->error, static_cast<std::uint16_t>(TerminateError::rdmap_stag));
  EXPECT_EQ(terminate->read->size, 100'000U);
  EXPECT_EQ(terminate->ddp->msn, 1U);
}

TEST(IwarpRefusal, LetsTheFpduThatHasBegunComeToItsEnd) {
  RawPeer peer;
  peer.side.post({.op = SendOp::write, .length = 5000});
  std::array<Bytes, 32> out;
  peer.side.endpoint.gather(out, peer.now);
  std::vector<std::byte> stream(out[0].begin(), out[0].end());
  stream.insert(stream.end(), out[1].begin(), out[1].begin() + 700);
  peer.side.endpoint.sent(stream.size(), peer.now);
  peer.send(fpdu(header(RdmapOpcode::read_response), kBytes));  // unasked
  EXPECT_TRUE(completed(peer.side, {Status::flushed}));
  std::fill(peer.side.memory.begin(), peer.side.memory.end(), std::byte{0xee});  // the program has it back
  const auto rest = peer.read();
  stream.insert(stream.end(), rest.begin(), rest.end());
  const std::size_t first = wire::fpdu_bytes(load_be16(stream.data()));
  EXPECT_EQ(first, 1448U);
  const auto payload = Bytes(stream).subspan(16, 1428);
  EXPECT_FALSE(std::ranges::any_of(payload.last(700), [](std::byte b) { return b == std::byte{0xee}; }) &&
               std::ranges::all_of(payload.last(700), [](std::byte b) { return b == std::byte{0xee}; }));
  const auto second = wire::parse_ddp(Bytes(stream).subspan(first + 2));
  ASSERT_TRUE(second);
  EXPECT_EQ(second->opcode, static_cast<std::uint8_t>(RdmapOpcode::terminate));
}

}  // namespace
}  // namespace softrnic::iwarp::test
