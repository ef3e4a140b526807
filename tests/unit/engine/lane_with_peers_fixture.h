// A lane, and a lane of another process that it meets when the test says so.
#pragma once

#include <gtest/gtest.h>
#include <poll.h>

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "control/page_writer.h"
#include "engine/lane.h"
#include "link/null_link.h"
#include "samehost/doorbell.h"
#include "tests/support/local_peer.h"
#include "transport/ib/rx_packet.h"

namespace softrnic::engine::test {

using samehost::test::kOwn, samehost::test::kTheirs, samehost::test::own_gid;

/// What comes from the network and goes there.
struct Traffic {
  std::vector<ib::RxPacket> comes;
  std::size_t gone = 0;  ///< packets
};

class Socket final : public link::NullLink {
 public:
  explicit Socket(Traffic& network) : network_(network) {}
  void send(const ib::TxPacket&, TimePoint) override { ++network_.gone; }
  std::size_t receive(link::Receiver& receiver, TimePoint) override {
    const auto packets = std::exchange(network_.comes, {});
    for (const ib::RxPacket& packet : packets) receiver.packet(packet);
    return packets.size();
  }

 private:
  Traffic& network_;
};

class LaneWithPeers : public testing::Test, protected samehost::test::LocalPeerAnswers {
 protected:
  LaneWithPeers() {
    share->begin(samehost::DirectLocks(locks));
    lane = std::make_unique<Lane>(kOwn, 1, std::make_unique<Socket>(network), page, share.get(),
                                  samehost::make_doorbell(), [this](std::uint8_t) { return answer(); });
    device::GidEntry address;
    address.gid = own_gid();
    lane->set_addresses({address});
    path.source = path.destination = own_gid();
  }
  ib::PathWindow& window() { return lane->window(path, Qpn::of(kTheirs, 5)); }
  /// Runs the lane until its path is (un)decided; false after ten seconds.
  bool gets_to(const ib::PathWindow& window, bool undecided) {
    pollfd timer{lane->timer_fd(), POLLIN, 0};
    while (window.undecided() != undecided) {
      if (poll(&timer, 1, 10'000) != 1) return false;
      lane->service(true);
    }
    return true;
  }
  bool calls() const {
    pollfd pending{lane->pending_fd(), POLLIN, 0};
    return poll(&pending, 1, 0) == 1;
  }

  Traffic network;
  std::unique_ptr<samehost::DirectShare> share = samehost::DirectShare::make(1);
  control::PageWriter page;
  std::unique_ptr<Lane> lane;
  ib::AddressVector path;
};

}  // namespace softrnic::engine::test
