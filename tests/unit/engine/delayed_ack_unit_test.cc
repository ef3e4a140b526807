// Whose ACK waits for the program's answer, and when it is let go (engine/delayed_ack.h alone).
#include "engine/delayed_ack.h"
#include "tests/unit/engine/queue_pairs_fixture.h"
#include "transport/ib/rx_packet.h"
#include "wire/opcode.h"

namespace softrnic::engine {
namespace {

using namespace std::chrono_literals;

class DelayedAckAlone : public test::QueuePairs {
 protected:
  static ib::RxPacket write() {
    ib::RxPacket rx;
    rx.packet.info = &wire::opcode_info(wire::Opcode::rc_write_only);
    rx.packet.headers.bth.ack_request = true;
    rx.packets = 1;
    return rx;
  }
  /// The program answers short WRITEs until its answer is expected.
  void prove(QpSlot& slot) {
    for (unsigned i = 0; i < TurnPredictor::kProof; ++i) {
      ASSERT_EQ(ack.written(slot, write(), now), nullptr);
      ASSERT_EQ(ack.posted(slot, now += 1us), nullptr);
    }
    ASSERT_FALSE(ack.holds(*slot.qp));
  }

  TimePoint now{1s};
  DelayedAck ack;
  Placed a{make_qp()}, b{make_qp()};
};

TEST_F(DelayedAckAlone, WaitsForAnAnswerThatIsExpectedAndNoLonger) {
  prove(a.slot);
  EXPECT_EQ(ack.written(a.slot, write(), now), nullptr);
  EXPECT_TRUE(ack.holds(*a.qp));
  EXPECT_EQ(ack.due(), now + TurnPredictor::kSoon);
  EXPECT_EQ(ack.release(), &a.slot);
  EXPECT_FALSE(ack.any());
  EXPECT_EQ(ack.due(), kNever);
  EXPECT_EQ(ack.release(), nullptr);
}

TEST_F(DelayedAckAlone, LeavesWithTheAnswer) {
  prove(a.slot);
  ack.written(a.slot, write(), now);
  EXPECT_EQ(ack.posted(b.slot, now), nullptr) << "another queue pair's post answers nothing";
  EXPECT_EQ(ack.posted(a.slot, now), &a.slot);
  EXPECT_FALSE(ack.any());
}

TEST_F(DelayedAckAlone, OfTwoTheFirstLeaves) {
  prove(a.slot);
  prove(b.slot);
  ack.written(a.slot, write(), now);
  EXPECT_EQ(ack.written(b.slot, write(), now), &a.slot);
  EXPECT_TRUE(ack.holds(*b.qp));
}

TEST_F(DelayedAckAlone, OnlyThatOfAWriteThatTellsNobodyAndWantsAnAck) {
  prove(a.slot);
  ib::RxPacket rx = write();
  rx.packet.headers.bth.ack_request = false;
  ack.written(a.slot, rx, now);
  rx = write();
  rx.packets = 2;
  ack.written(a.slot, rx, now);
  rx = write();
  rx.packet.info = &wire::opcode_info(wire::Opcode::rc_write_only_imm);
  ack.written(a.slot, rx, now);
  EXPECT_FALSE(ack.any());
}

TEST_F(DelayedAckAlone, InAForkedChildNothingWaits) {
  prove(a.slot);
  ack.written(a.slot, write(), now);
  ack.abandon();
  EXPECT_FALSE(ack.any());
  EXPECT_EQ(ack.due(), kNever);
}

}  // namespace
}  // namespace softrnic::engine
