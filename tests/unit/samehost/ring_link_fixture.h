// Two lanes of one host for tests: each has a link over the memory that the other one shares.
#pragma once

#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "link/null_link.h"
#include "samehost/doorbell.h"
#include "samehost/ring_link.h"
#include "tests/support/local_peer.h"
#include "tests/support/peer_handles.h"
#include "transport/ib/ordered_copy.h"
#include "transport/ib/rx_packet.h"

namespace softrnic::samehost::test {

inline constexpr std::uint32_t kKeyIndex = 5;
inline constexpr MemoryKey kRegionKey{kKeyIndex << rnic::KeyTable::kTagBits | 0x11};

/// What goes to the network and comes from there.
struct Network {
  std::size_t sent = 0;  ///< packets
  std::size_t reads = 0;
  bool has_packet = false;
};

class Below final : public link::NullLink {
 public:
  explicit Below(Network& network) : network_(network) {}
  void send(const ib::TxPacket&, TimePoint) override { ++network_.sent; }
  std::size_t receive(link::Receiver&, TimePoint) override {
    ++network_.reads;
    return 0;
  }
  bool has_packet(TimePoint) const override { return network_.has_packet; }

 private:
  Network& network_;
};

struct Got {
  std::uint32_t psn = 0;
  std::uint32_t packets = 0;
  bool rendezvous = false;
  bool complete = false;  ///< the payload was to be had
  std::vector<std::byte> payload;
};

class Collector final : public link::Receiver, public EagerReceiver {
 public:
  void packet(const ib::RxPacket& rx) override {
    Got& out = got.emplace_back();
    out.psn = rx.packet.headers.bth.psn;
    out.packets = rx.packets;
    out.rendezvous = rx.rendezvous != nullptr;
    out.payload.resize(rx.payload_bytes());
    out.complete = ib::copy(rx.payload(), 0, out.payload.data(), out.payload.size());
  }
  bool eager(const RingEagerSend&, std::uint8_t) override { return false; }
  void dropped(const Reason& reason, ib::Counter counter, Qpn, std::uint64_t packets) override {
    drops.insert(drops.end(), packets, {reason.id, counter});
  }
  std::vector<Got> got;
  std::vector<std::pair<ReasonId, ib::Counter>> drops;
};

/// A process with one lane.
class Side {
 public:
  explicit Side(std::uint8_t number)
      : lane(number), share(DirectShare::make(1)), place(*share->add_lane(number)) {
    open();
  }
  void open() {
    link = std::make_unique<RingLink>(std::make_unique<Below>(below), lane, *share, place,
                                      UniqueFd(dup(doorbell.get())), collector);
    device::GidEntry address;
    address.gid = own_gid();
    link->set_addresses({address});
  }
  void meet(const Side& other) {
    peer = DirectPeer::open(handles_of(*other.share), other.lane, lane, *share);
    ASSERT_NE(peer, nullptr);
    link->outbound().connect(other.lane, *peer, UniqueFd(dup(other.doorbell.get())));
  }
  std::vector<Got> receive() {
    link->receive(collector, now);
    return std::exchange(collector.got, {});
  }
  void register_memory(std::vector<std::byte>& memory) const {
    share->publish({.key = kRegionKey,
                    .pd = nullptr,
                    .start = reinterpret_cast<std::uint64_t>(memory.data()),
                    .length = memory.size(),
                    .base = memory.data(),
                    .access = 0});
  }
  bool rung() const {
    pollfd fd{doorbell.get(), POLLIN, 0};
    return poll(&fd, 1, 0) == 1;
  }

  std::uint8_t lane;
  UniqueFd doorbell = make_doorbell();
  std::unique_ptr<DirectShare> share;
  DirectShare::LaneSlot place;
  std::unique_ptr<DirectPeer> peer;
  std::unique_ptr<RingLink> link;
  Network below;
  Collector collector;
  TimePoint now{std::chrono::seconds(1)};
};

class RingLinkTest : public ::testing::Test {
 protected:
  RingLinkTest() {
    for (std::size_t i = 0; i < memory.size(); ++i) memory[i] = static_cast<std::byte>(i * 7 + (i >> 8));
    a.meet(b);
    b.meet(a);
    path.source = path.destination = own_gid();
  }
  ib::TxPacket packet(std::uint32_t psn, std::uint32_t bytes,
                      wire::Opcode opcode = wire::Opcode::rc_send_only) {
    ib::TxPacket tx;
    tx.path = &path;
    tx.headers.bth.opcode = opcode;
    tx.headers.bth.psn = psn;
    tx.headers.bth.pad = wire::pad_for(bytes);
    tx.headers.bth.destination = Qpn::of(b.lane, 7);
    tx.payload_bytes = bytes;
    if (bytes > 0) tx.fragments[tx.fragment_count++] = {memory.data() + 100, bytes, kRegionKey};
    return tx;
  }
  void send(const ib::TxPacket& tx) {
    a.link->send(tx, a.now);
    a.link->flush(a.now);
  }
  bool same(const Got& got, std::uint32_t bytes) const {
    return got.complete && got.payload.size() == bytes &&
           std::equal(got.payload.begin(), got.payload.end(), memory.begin() + 100);
  }

  std::vector<std::byte> memory = std::vector<std::byte>(100'000);
  ib::AddressVector path;
  Side a{3}, b{4};
};

}  // namespace softrnic::samehost::test
