// One simulated queue pair with the part of an adapter that belongs to it: the ib::Host of its endpoint.
#pragma once

#include <array>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include "engine/unexpected_packets.h"
#include "tests/sim/config.h"
#include "tests/sim/ground.h"
#include "tests/sim/memory.h"
#include "tests/sim/observer.h"
#include "tests/sim/work_request.h"
#include "transport/ib/endpoint.h"

namespace softrnic::sim {

class Model;

struct PostedReceive {
  std::uint64_t id = 0;
  std::vector<ib::Sge> sges;
  MemoryKey region;
  Bytes image;  ///< the region's bytes when it was posted
  ib::RecvWqe wqe;
  bool is_short = false;
  bool is_bad = false;     ///< its lkey is wrong on purpose
  std::uint32_t srqn = 0;  ///< XRC: of the queue that it was posted to
};

/// A receive queue, of one node or shared by several.
struct ReceiveQueue {
  Memory* memory = nullptr;
  std::uint32_t depth = 0;
  std::uint32_t size = 0;  ///< bytes of each receive
  std::uint16_t sges = 1;
  Duration repost_delay{0};
  Misdeed misdeed = Misdeed::none;
  std::uint32_t misdeed_at = 0;
  std::uint32_t srqn = 0;     ///< XRC
  std::uint32_t posted = 0;   ///< ever
  std::uint32_t to_post = 0;  ///< consumed and not yet replaced
  std::deque<std::unique_ptr<PostedReceive>> waiting;

  void post(Rng& rng);
};

class Node;

/// What waits for the receives of a node.
struct NodeQueue : engine::UnexpectedQueue {
  explicit NodeQueue(Node& of) : node(&of) {}
  Node* node;
};

class Node final : public ib::Host {
 public:
  /// `words_taken`: see Faults::taken.
  Node(Ground& ground, std::uint32_t number, Memory& own_memory, double words_taken, Rng rng)
      : Host(counters),
        memory(own_memory),
        index(number),
        ground_(ground),
        words_taken_(words_taken),
        rng_(rng) {}

  Expected<ib::HostMemory, Reason> local_memory(MemoryKey lkey, std::uint64_t address, std::uint64_t length,
                                                ib::LocalUse use) override;
  Expected<ib::HostMemory, Reason> remote_memory(MemoryKey rkey, std::uint64_t address, std::uint64_t length,
                                                 std::uint32_t access) override;
  Expected<void, Reason> remote_region(MemoryKey rkey, std::uint32_t access) override;
  std::byte* bounce_buffer(std::size_t size) override {
    if (bounce_.size() < size) bounce_.resize(size);
    return bounce_.data();
  }
  Expected<void, Reason> invalidate(MemoryKey rkey) override;
  Expected<void, Reason> select_srq(std::uint32_t number) override;
  Expected<void, Reason> execute_locally(const ib::SendWqe& wqe) override;
  const ib::RecvWqe* take_receive() override;
  std::optional<std::uint32_t> receives_posted() const override;
  Expected<std::uint64_t, Reason> execute_atomic(std::uint64_t* word,
                                                 const ib::AtomicOperation& operation) override;
  ib::PathWindow* migrated() override {
    ++migrations;
    std::swap(windows_of[0], windows_of[1]);
    return windows_of[0];
  }
  void complete(const ib::SendDone& done) override;
  void complete(const ib::RecvDone& done) override;
  void event(ib::QpEvent event) override;
  void explain(const Reason& reason, const std::uint64_t* wr_id) override;

  /// Between calls into the endpoint, after its packet has left: hands the completions on, as a lane does,
  /// and checks that the endpoint keeps its invariants and that its state is explained by what it reported.
  void check_state();
  /// A receive that was consumed is to be posted again.
  void give_back(const PostedReceive& receive);
  bool gone() const { return dead || stopped; }
  /// Whether the observer's rules hold now.
  bool observed() const {
    return pair->type == ib::QpType::rc && !pair->hostile && started && !gone() && !broken &&
           !endpoint->in_error();
  }
  /// Of the path that it is on.
  const wire::Gid& source() const {
    return migrations % 2 == 1 ? attributes.alternate.path.source : address.source;
  }
  bool can_send() const { return !gone() && !broken && started; }
  std::uint64_t counted(ib::Counter counter) const { return counters[counter]; }
  bool may_lose() const { return lossy; }

  Memory& memory;
  std::uint32_t index;
  std::uint32_t adapter = 0;
  int side = 0;
  const PairConfig* pair = nullptr;
  Node* peer = nullptr;       ///< RC and UC
  ib::AddressVector address;  ///< towards the peer
  /// Of the path it is on, and of the alternate one, if there is one
  std::array<ib::PathWindow*, 2> windows_of{};
  ib::Attributes attributes;
  Qpn qpn;
  ReceiveQueue* receives = nullptr;       ///< an XRC target: of the request at hand
  std::array<ReceiveQueue*, 2> queues{};  ///< XRC has two, the others the first
  std::unique_ptr<ib::Endpoint> endpoint;
  Model* sends = nullptr;       ///< judges this node as requester
  Model* receptions = nullptr;  ///< judges this node as responder
  Region* target = nullptr;     ///< of this node, for its peer's WRITEs, READs and atomics
  Region* foreign = nullptr;    ///< of this node, in another PD
  Region* feeble = nullptr;     ///< of this node, without any remote access
  /// Of this node, bound: for its peer's SEND_WITH_INV, and its own local_invalidate
  std::vector<MemoryKey> windows;

  // what happened
  bool started = false;  ///< in RTS
  bool dead = false;     ///< killed
  bool stopped = false;  ///< reset
  bool broken = false;   ///< in error: work requests may be flushed
  bool flush_commanded = false;
  bool gone_early = false;  ///< killed, reset or flushed before the end of the run
  bool error_reported = false;
  bool drain_pending = false;
  bool drained_seen = false;
  bool lossy = false;         ///< packets to or from it may vanish
  bool was_late = false;      ///< it started to receive late
  bool exact_counts = false;  ///< no request reaches the peer twice
  bool slow = false;          ///< answers may take longer than its timeout
  bool took_short = false;
  bool took_bad = false;
  std::uint32_t migrations = 0;   ///< of this connection
  std::uint64_t flushes = 0;      ///< executed for its peer
  Observer observer;              ///< RC
  std::uint64_t losses = 0;       ///< packets from or to it that were lost
  std::uint32_t empty_takes = 0;  ///< since the last receive was there
  bool ever_empty = false;
  bool bad_invalidate_expected = false;
  MemoryKey doomed_source;  ///< a region the world deregisters while it is in use
  bool misbehaved = false;  ///< the pair's misdeed is done

  // eager sends
  std::uint32_t connection = 0;       ///< counts its connections
  std::uint32_t told_connection = 0;  ///< the peer has executed all of this connection …
  std::uint32_t told_psn = 0;         ///< … before this PSN
  std::uint8_t told_credit = 0;

  // scheduling, used by the world
  TimePoint timer_at = kNever;
  bool blocked = false;
  bool pump_scheduled = false;
  bool may_request = false;  ///< its state allowed requests before the present transmit()
  bool work_scheduled = false;
  bool resume_scheduled = false;
  std::uint32_t posted = 0;
  std::uint64_t bytes_posted = 0;
  std::uint32_t idle_expiries = 0;
  std::array<std::uint32_t, 2> consumed{};  ///< receives to repost, by queue
  std::deque<std::unique_ptr<PostedReceive>> taken;
  ib::Counters counters;
  NodeQueue unexpected{*this};
  bool received = false;  ///< a receive has completed since the lane looked

 private:
  Ground& ground_;
  double words_taken_;
  Rng rng_;
  std::vector<std::byte> bounce_;
  std::vector<ib::SendDone> finished_;  ///< sends reported during the present call
};

}  // namespace softrnic::sim
