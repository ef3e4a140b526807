// Packets that are held for their receives: who counts as one sender, and what is handed over.
#include "engine/receive_hold.h"

#include <vector>

#include "base/reason_id.h"
#include "tests/unit/engine/queue_pairs_fixture.h"
#include "transport/ib/rx_packet.h"
#include "wire/opcode.h"

namespace softrnic::engine {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kHoldCapacity = 64 * 1024;

class Hold : public test::QueuePairs {
 protected:
  Hold() {
    device::GidEntry own;
    own.gid = here;
    addresses.set({own});
  }
  ib::RxPacket datagram(const wire::Gid& source, std::uint8_t lane) const {
    ib::RxPacket rx;
    rx.packet.info = &wire::opcode_info(wire::Opcode::ud_send_only);
    rx.packet.headers.deth.source = Qpn::of(lane, 1);
    rx.packet.payload = payload;
    rx.source = source;
    return rx;
  }
  void keep_much(const wire::Gid& source, std::uint8_t lane) {
    for (int i = 0; i < 20; ++i) EXPECT_TRUE(hold.keep(a.slot, datagram(source, lane)));
  }

  const std::vector<std::byte> payload = std::vector<std::byte>(1000);
  const wire::Gid here = wire::Gid::from_ipv4_be(0x0100000a);
  const wire::Gid there = wire::Gid::from_ipv4_be(0x0200000a);
  LocalAddresses addresses;
  ReceiveHold hold{kHoldCapacity, addresses};
  Placed a{make_qp()};
};

TEST_F(Hold, LanesOfThisHostAreSendersOfTheirOwn) {
  keep_much(here, 5);
  EXPECT_TRUE(hold.throttles(5));
  EXPECT_TRUE(hold.throttles(here, 5));
  EXPECT_FALSE(hold.throttles(6));
  EXPECT_FALSE(hold.throttles(there, 5));
  hold.forget(a.slot);
  EXPECT_FALSE(hold.throttles(5));
}

TEST_F(Hold, AllLanesOfAnotherHostAreOneSender) {
  keep_much(there, 5);
  EXPECT_TRUE(hold.throttles(there, 9));
  EXPECT_FALSE(hold.throttles(5));
  EXPECT_FALSE(hold.throttles(here, 5));
}

TEST_F(Hold, WhatIsFullSaysWhyAPacketIsLost) {
  std::size_t kept = 0;
  for (; kept < 100; ++kept) {
    const auto result = hold.keep(a.slot, datagram(there, 1));
    if (result) continue;
    EXPECT_EQ(result.error().id, ReasonId::drop_unexpected_full);
    break;
  }
  EXPECT_GT(kept, 10U);
  EXPECT_LT(kept, 100U);
}

// A queue pair that is in no state to receive lacks no receive: it drops what it is handed, and says why.
TEST_F(Hold, WhatWaitsForNothingIsHandedOverInItsOrderAndInBoundedSteps) {
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(hold.keep(a.slot, datagram(there, 1)));
  EXPECT_TRUE(hold.any());
  std::vector<QpSlot*> to;
  hold.look_again(TimePoint{1s}, [&](QpSlot& slot, const ib::RxPacket&) { to.push_back(&slot); });
  EXPECT_EQ(to, (std::vector<QpSlot*>(3, &a.slot)));
  EXPECT_FALSE(hold.any());
  EXPECT_FALSE(hold.more());
}

}  // namespace
}  // namespace softrnic::engine
