// A lane, and a lane of another process that it meets when the test says so.
#pragma once

#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "engine/control_page.h"
#include "engine/lane.h"
#include "link/null_link.h"
#include "samehost/atomic_locks.h"
#include "samehost/doorbell.h"

namespace softrnic::engine::test {

inline constexpr std::uint8_t kOwn = 3, kTheirs = 9;

inline wire::Gid own_gid() { return wire::Gid::from_ipv4_be(0x0100007f); }

/// A lane of another process.
struct LocalPeer {
  LocalPeer() : share(samehost::DirectShare::make(1)), place(*share->add_lane(kTheirs)) {
    place.life->lock();
  }
  ~LocalPeer() { place.life->unlock(); }
  std::unique_ptr<samehost::DirectShare> share;
  samehost::DirectShare::LaneSlot place;
  UniqueFd doorbell = samehost::make_doorbell();
};

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

class LocalPeers : public testing::Test {
 protected:
  LocalPeers() {
    share->begin(samehost::DirectLocks(locks));
    lane = std::make_unique<Lane>(kOwn, 1, std::make_unique<Socket>(network), page, share.get(),
                                  samehost::make_doorbell(), [this](std::uint8_t) { return answer(); });
    device::GidEntry address;
    address.gid = own_gid();
    lane->set_addresses({address});
    path.source = path.destination = own_gid();
  }
  std::optional<samehost::PeerHandles> answer() {
    ++asked;
    if (!answers) return std::nullopt;
    samehost::PeerHandles shown;
    if (!shares) return shown;
    shown.memory.reset(dup(local_peer.share->fd()));
    shown.inbox.reset(dup(local_peer.share->inbox_fd()));
    shown.doorbell.reset(dup(local_peer.doorbell.get()));
    shown.pid = pid;
    return shown;
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
  UniqueFd locks = samehost::DirectLocks::make();
  std::unique_ptr<samehost::DirectShare> share = samehost::DirectShare::make(1);
  LocalPeer local_peer;
  bool shares = true;
  bool answers = true;
  pid_t pid = getpid();  ///< of the local peer
  unsigned asked = 0;
  ControlPage page;
  std::unique_ptr<Lane> lane;
  ib::AddressVector path;
};

}  // namespace softrnic::engine::test
