// Input: what a hostile process writes to the memory that it shares: a byte of choices, then pieces of a byte
// that says where, a byte that says how far from there, a byte of size and so many bytes. Keys, segments,
// rows, hazards and flags of its own memory are among the places, and of this side's memory what local peers
// write: acknowledgements, flags, a ring.
//
// Whatever it is, this side reads it without an error: what it finds lies inside of what it asked for,
// nothing is mapped that is not there, waits come to an end, and the next local peer is resolved.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "fuzz/check.h"
#include "link/null_link.h"
#include "samehost/direct_peer.h"
#include "samehost/hazard_domain.h"
#include "samehost/ring_link.h"
#include "tests/support/peer_handles.h"
#include "transport/ib/ordered_copy.h"
#include "transport/ib/rx_packet.h"

using namespace softrnic;
using namespace softrnic::samehost;

namespace {

constexpr std::uint8_t kOwn = 3, kTheirs = 9;
constexpr std::uint64_t kLength = 4096;
constexpr std::size_t kUnit = 8;  ///< of distances

/// What a local peer may ask this side to look at: a few of each, so that inputs meet them.
constexpr std::uint32_t kKeys = 4, kSegments = 4, kQps = 4;

struct Area {
  std::byte* begin;
  std::size_t size;
};

class Scene {
 public:
  Scene() : own_(DirectShare::make(1)), theirs_(DirectShare::make(1)) {
    const auto slot = own_->add_lane(kOwn);
    theirs_->add_lane(kTheirs);
    slot_ = *slot;
    const DirectMemory& t = theirs_->memory();
    areas_ = {area(&t.header(), sizeof(DirectHeader)),
              area(t.keys(), kKeys * sizeof(DirectKey)),
              area(t.segments(), kSegments * sizeof(DirectSegment)),
              area(t.qps(0), kQps * sizeof(DirectQp)),
              area(&t.reception(0), sizeof(RingReception)),
              area(slot_.acks, kQps * sizeof(EagerAck)),
              area(slot_.inbox, sizeof(RingInbox)),
              area(own_->ring(0, kTheirs), 8192)};
    for (const Area& a : areas_) good_.emplace_back(a.begin, a.begin + a.size);
  }

  void restore() {
    for (std::size_t i = 0; i < areas_.size(); ++i)
      std::memcpy(areas_[i].begin, good_[i].data(), areas_[i].size);
  }
  void write(fuzz::Input& input) {
    while (!input.empty()) {
      const Area& a = areas_[input.take<std::uint8_t>() % areas_.size()];
      const std::size_t from = input.take<std::uint8_t>() * kUnit % a.size;
      const Bytes bytes = input.take_bytes(input.take<std::uint8_t>());
      std::memcpy(a.begin + from, bytes.data(), std::min(bytes.size(), a.size - from));
    }
    // Not another process of this machine: that would be written to if it had agreed to it.
    theirs_->memory().header().pid = getpid();
  }
  std::unique_ptr<DirectPeer> meet() { return DirectPeer::open(handles_of(*theirs_), kTheirs, kOwn, *own_); }
  DirectShare& own() const { return *own_; }
  DirectShare& theirs() const { return *theirs_; }
  const DirectShare::LaneSlot& slot() const { return slot_; }

 private:
  static Area area(void* begin, std::size_t size) { return {static_cast<std::byte*>(begin), size}; }

  std::unique_ptr<DirectShare> own_, theirs_;
  DirectShare::LaneSlot slot_;
  std::vector<Area> areas_;
  std::vector<std::vector<std::byte>> good_;
};

class Sink final : public link::Receiver, public EagerReceiver {
 public:
  void packet(const ib::RxPacket& rx) override {
    FUZZ_CHECK(rx.packet.info != nullptr && rx.packet.info->opcode == rx.packet.headers.bth.opcode);
    // A neighbour may claim any length: endpoints have room for what a message may have, whatever it says.
    constexpr std::size_t kRoom = 64 * 1024;
    std::vector<std::byte> payload(std::min(rx.payload_bytes(), kRoom));
    static_cast<void>(ib::copy(rx.payload(), 0, payload.data(), payload.size()));
  }
  bool eager(const samehost::RingEagerSend& message, std::uint8_t) override {
    FUZZ_CHECK(message.eager.payload.size() <= ib::EagerSend::kMostBytes);
    return message.eager.psn % 2 == 0;
  }
  void dropped(const Reason&, ib::Counter, Qpn, std::uint64_t) override {}
};

/// Whether both ends of what was found are there: SIGBUS or SIGSEGV otherwise.
bool reads(std::uint64_t address) {
  const auto* const at = reinterpret_cast<const volatile char*>(address);
  static_cast<void>(at[0]);
  static_cast<void>(at[kLength - 1]);
  return true;
}

void look_at_keys(const Scene& scene, DirectPeer& peer) {
  for (std::uint32_t index = 0; index < kKeys; ++index) {
    const DirectKeyBody body = scene.theirs().memory().keys()[index].body;
    samehost::DirectQpBody through;
    through.pd = body.pd;
    through.serial = body.queue_pair;
    const auto target = peer.find(MemoryKey(body.key), through, body.start, kLength, 0);
    if (!target) continue;
    FUZZ_CHECK(target->behind >= kLength);
    SegmentCache::Mappings old;
    if (const auto range = peer.range_of(target->segment)) {
      samehost::MappedRange mapped = samehost::MappedRange::map(peer.pid(), *range, ShareFiles::fixed);
      peer.segments().install(target->segment, std::move(mapped), old);
      if (const auto found = peer.segments().find(target->segment, target->address, kLength))
        FUZZ_CHECK(found->behind >= kLength && reads(found->address));
    }
    peer.sweep(old);
  }
}

void receive(Scene& scene, DirectPeer& peer) {
  Sink sink;
  RingLink link(std::make_unique<softrnic::link::NullLink>(), kOwn, scene.own(), scene.slot(), UniqueFd(),
                sink);
  link.outbound().connect(kTheirs, peer, UniqueFd());
  TimePoint now{std::chrono::seconds(1)};
  for (int i = 0; i < 4; ++i) link.receive(sink, now += std::chrono::milliseconds(1));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static Scene scene;
  fuzz::Input input(data, size);
  scene.restore();
  scene.write(input);
  if (const auto peer = scene.meet()) {
    look_at_keys(scene, *peer);
    receive(scene, *peer);
    HazardDomain guard(scene.own().memory().header(), Duration::zero());
    guard.admit(kTheirs, UniqueFd(dup(scene.theirs().fd())), 0);
    guard.wait();
  }
  scene.restore();
  FUZZ_CHECK(scene.meet() != nullptr);
  return 0;
}
