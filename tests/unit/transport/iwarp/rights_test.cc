// What the queue pair allows its peer (qp_access_flags): each operation with each set of rights, given at
// each moment.
#include "transport/ib/rights.h"

#include <gtest/gtest.h>

#include "base/reason_id.h"
#include "tests/unit/transport/iwarp/raw_peer.h"

namespace softrnic::iwarp::test {
namespace {

using ib::SendOp;
using wire::TerminateError;

constexpr std::uint32_t kWord = 64;  ///< where the peer's requests go to
constexpr std::uint32_t kRights[] = {ib::kRemoteWrite, ib::kRemoteRead, ib::kRemoteAtomic};

struct Request {
  const char* name;
  SendOp op;
  std::vector<std::byte> (*bytes)(std::uint32_t size);
};

std::vector<std::byte> write_of(std::uint32_t size) {
  wire::DdpHeader write = header(RdmapOpcode::write);
  write.offset = kBase + kWord;
  return fpdu(write, std::vector<std::byte>(size, std::byte{0xab}));
}
std::vector<std::byte> read_of(std::uint32_t size) {
  const wire::ReadRequest read{MemoryKey{9}, 0, size, kKey, kBase + kWord};
  return fpdu(header(RdmapOpcode::read_request), encoded<wire::kReadRequestBytes>(read));
}
std::vector<std::byte> atomic_of(wire::AtomicCode code) {
  wire::AtomicRequest atomic;
  atomic.code = static_cast<std::uint8_t>(code);
  atomic.stag = kKey;
  atomic.offset = kBase + kWord;
  atomic.add_or_swap = 1;
  if (code == wire::AtomicCode::compare_swap)
    atomic.add_or_swap_mask = atomic.compare_mask = ~std::uint64_t{0};
  return fpdu(header(RdmapOpcode::atomic_request), encoded<wire::kAtomicRequestBytes>(atomic));
}

constexpr Request kRequests[] = {
    {"WRITE", SendOp::write, write_of},
    {"READ", SendOp::read, read_of},
    {"FETCH_ADD", SendOp::fetch_add, [](std::uint32_t) { return atomic_of(wire::AtomicCode::fetch_add); }},
    {"CMP_SWAP", SendOp::compare_swap,
     [](std::uint32_t) { return atomic_of(wire::AtomicCode::compare_swap); }},
};

enum class Moment { at_start, later, taken_and_given, given_and_taken };
constexpr Moment kMoments[] = {Moment::at_start, Moment::later, Moment::taken_and_given,
                               Moment::given_and_taken};

struct Target : RawPeer {
  Target(std::uint32_t access, Moment moment) : RawPeer(with(moment == Moment::at_start ? access : kAll)) {
    if (moment == Moment::taken_and_given) side.endpoint.set_access(0);
    if (moment == Moment::given_and_taken) side.endpoint.set_access(kAll);
    if (moment != Moment::at_start) side.endpoint.set_access(access);
  }
  static Attributes with(std::uint32_t access) {
    Attributes attributes = default_attributes();
    attributes.access = access;
    return attributes;
  }
  bool refused() const { return side.host.explained(ReasonId::iwarp_qp_access); }
  std::vector<std::byte> memory() const { return {side.memory.begin(), side.memory.begin() + 4096}; }
};

TEST(IwarpRights, EachOperationNeedsItsOwn) {
  for (const Request& request : kRequests)
    for (std::uint32_t bits = 0; bits < 8; ++bits)
      for (const Moment moment : kMoments) {
        std::uint32_t access = 0;
        for (unsigned i = 0; i < 3; ++i) access |= (bits >> i & 1) != 0 ? kRights[i] : 0;
        SCOPED_TRACE(std::string(request.name) + " with " + std::to_string(access) + " at moment " +
                     std::to_string(static_cast<int>(moment)));
        Target target(access, moment);
        const auto before = target.memory();
        target.send(request.bytes(8));
        const bool allowed = (ib::needs_of(request.op).access & ~access) == 0;
        EXPECT_EQ(target.refused(), !allowed);
        const auto terminate = target.terminated();
        ASSERT_EQ(terminate.has_value(), !allowed);
        EXPECT_EQ(target.side.endpoint.in_error(), !allowed);
        if (!allowed) {
          EXPECT_EQ(terminate->error, static_cast<std::uint16_t>(TerminateError::rdmap_access));
          EXPECT_TRUE(terminate->ddp.has_value());
          EXPECT_EQ(terminate->read.has_value(), request.op == SendOp::read);
          EXPECT_EQ(target.memory(), before) << "no byte lands";
        } else if (request.op != SendOp::read && request.op != SendOp::compare_swap) {
          EXPECT_NE(target.memory(), before);
        }
      }
}

// RFC 5040 checks no key for them, but the queue pair is asked, as on InfiniBand.
TEST(IwarpRights, RequestsOfNoBytesNeedThemToo) {
  for (const Request& request : {kRequests[0], kRequests[1]})
    for (const bool allowed : {false, true}) {
      Target target(allowed ? kAll : 0, Moment::later);
      target.send(request.bytes(0));
      EXPECT_EQ(target.refused(), !allowed) << request.name;
    }
}

TEST(IwarpRights, AReadyToReceiveMessageNeedsNone) {
  for (const auto& [rtr, bytes] : {std::pair{wire::kRtrWrite, write_of(0)}, {wire::kRtrRead, read_of(0)}}) {
    MpaAgreement agreement = agreed();
    agreement.rtr = rtr;
    agreement.waits_for_peer = WaitForPeer::always;
    RawPeer peer(Target::with(0), agreement);
    peer.send(bytes);
    EXPECT_FALSE(peer.terminated());
    EXPECT_FALSE(peer.side.endpoint.in_error());
    peer.send(write_of(0));  // the next one is a request
    EXPECT_TRUE(peer.side.endpoint.in_error());
  }
}

TEST(IwarpRights, WhatComesOfASegmentOnceTheyAreTakenDoesNotLand) {
  constexpr std::size_t kHead = 2 + 14, kBefore = 100;
  for (const bool straight : {false, true}) {
    Target target(kAll, Moment::at_start);
    const auto bytes = write_of(1000);
    Pair::deliver(target.side, Bytes(bytes).first(kHead + kBefore), straight, target.now);
    const auto before = target.memory();
    EXPECT_EQ(before[kWord + kBefore - 1], std::byte{0xab});
    EXPECT_NE(before[kWord + kBefore], std::byte{0xab});
    target.side.endpoint.set_access(ib::kRemoteRead | ib::kRemoteAtomic);
    EXPECT_TRUE(target.side.endpoint.room().empty());
    target.send(Bytes(bytes).subspan(kHead + kBefore));
    EXPECT_EQ(target.memory(), before);
    EXPECT_TRUE(target.refused());
  }
}

TEST(IwarpRights, ARequestOfWhichTheHeaderCameBeforeIsNotCarriedOut) {
  for (const Request& request : {kRequests[1], kRequests[2]}) {
    Target target(kAll, Moment::at_start);
    const auto before = target.memory();
    const auto bytes = request.bytes(8);
    target.send(Bytes(bytes).first(bytes.size() - 10));
    target.side.endpoint.set_access(0);
    target.send(Bytes(bytes).last(10));
    EXPECT_EQ(target.memory(), before) << request.name;
    EXPECT_TRUE(target.terminated());
  }
}

}  // namespace
}  // namespace softrnic::iwarp::test
