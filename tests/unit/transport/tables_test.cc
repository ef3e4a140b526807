#include <gtest/gtest.h>

#include "transport/ib/packet_builder.h"
#include "transport/ib/read_atomic_resources.h"
#include "transport/ib/syndromes.h"

namespace softrnic::ib {
namespace {

TEST(Syndromes, EveryFaultHasTheNakOfTheSpecification) {
  EXPECT_EQ(fault_rule(Fault::no_receive).syndrome, wire::kRnrNak);
  EXPECT_EQ(fault_rule(Fault::invalid_request).syndrome, wire::kNakInvalidRequest);
  EXPECT_EQ(fault_rule(Fault::remote_access).syndrome, wire::kNakRemoteAccess);
  EXPECT_EQ(fault_rule(Fault::receive_short).syndrome, wire::kNakInvalidRequest);
  EXPECT_EQ(fault_rule(Fault::receive_memory).syndrome, wire::kNakRemoteOperational);
}

// Somebody must tell the program: a receive that completes with an error, or an event.
TEST(Syndromes, EveryFatalFaultIsReportedLocally) {
  for (auto fault : {Fault::invalid_request, Fault::remote_access, Fault::receive_short,
                     Fault::receive_memory, Fault::invalidate}) {
    EXPECT_NE(fault_rule(fault).has_event, fault_rule(fault).receive_status != Status::flushed);
  }
}

TEST(Syndromes, FatalNaksHaveTheirStatus) {
  EXPECT_EQ(fatal_nak_rule(wire::kNakInvalidRequest)->status, Status::remote_invalid_request);
  EXPECT_EQ(fatal_nak_rule(wire::kNakRemoteAccess)->status, Status::remote_access);
  EXPECT_EQ(fatal_nak_rule(wire::kNakRemoteOperational)->status, Status::remote_operation);
  EXPECT_EQ(fatal_nak_rule(wire::kNakPsnSequence), nullptr);
  EXPECT_EQ(fatal_nak_rule(0x64), nullptr);
  EXPECT_EQ(fatal_nak_rule(0), nullptr);
}

TEST(MessageOpcodes, AgreeWithTheOpcodeTable) {
  for (auto op : {SendOp::write, SendOp::write_with_imm, SendOp::send, SendOp::send_with_imm,
                  SendOp::send_with_invalidate}) {
    const MessageOpcodes& opcodes = rc_opcodes(op);
    ASSERT_TRUE(opcodes.supported);
    const auto position = [&](bool first, bool last) {
      return wire::opcode_info(opcodes.at(first, last)).position;
    };
    EXPECT_EQ(position(true, false), wire::Position::first);
    EXPECT_EQ(position(false, false), wire::Position::middle);
    EXPECT_EQ(position(false, true), wire::Position::last);
    EXPECT_EQ(position(true, true), wire::Position::only);
    if (!uc_allows(op)) continue;
    const wire::OpcodeInfo& uc = wire::opcode_info(to_uc(opcodes.only));
    EXPECT_EQ(uc.service, wire::Service::uc);
    EXPECT_EQ(uc.headers, wire::opcode_info(opcodes.only).headers);
  }
  EXPECT_FALSE(rc_opcodes(SendOp::bind_window).supported);
  EXPECT_FALSE(rc_opcodes(static_cast<SendOp>(200)).supported);
}

TEST(ReadAtomicResources, OverwritesTheOldestOnceItIsAnswered) {
  ReadAtomicResources ring;
  ring.resize(2);
  for (std::uint32_t i = 0; i < 2; ++i) {
    ReadAtomic* r = ring.take();
    ASSERT_NE(r, nullptr);
    r->first = Psn::first(i);
    r->answer(0, 1, 8);
  }
  EXPECT_EQ(ring.take(), nullptr);
  ring.pending()->sent();
  ring.find(Psn::first(0))->answer(0, 1, 8);  // being repeated
  ReadAtomic* third = ring.take();
  ASSERT_NE(third, nullptr);
  third->first = Psn::first(2);
  EXPECT_EQ(ring.find(Psn::first(0)), nullptr);
  EXPECT_NE(ring.find(Psn::first(1)), nullptr);
  EXPECT_EQ(ring.pending()->first, Psn::first(1));
}

TEST(ReadAtomicResources, ServesInPsnOrderAfterARepeat) {
  ReadAtomicResources ring;
  ring.resize(4);
  for (std::uint32_t i = 0; i < 3; ++i) {
    ReadAtomic* r = ring.take();
    r->first = Psn::first(10 + i);
    r->answer(0, 1, 8);
    if (i < 2) r->sent();
  }
  EXPECT_EQ(ring.pending()->first, Psn::first(12));
  ring.find(Psn::first(11))->answer(0, 1, 8);
  ring.rescan();
  EXPECT_EQ(ring.pending()->first, Psn::first(11));
}

TEST(ReadAtomicResources, NoPlacesMeansNone) {
  ReadAtomicResources ring;
  EXPECT_EQ(ring.take(), nullptr);
  EXPECT_EQ(ring.find(Psn::first(0)), nullptr);
  EXPECT_EQ(ring.pending(), nullptr);
}

}  // namespace
}  // namespace softrnic::ib
