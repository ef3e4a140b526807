// A lane: one socket, one lock, and the queue pairs that live on it.
//
// Work comes in batches, always under the lock:
//
//   receive → endpoints → transmit what they owe → flush to the socket → publish completions
//
// so that an ACK has left before the program sees the completion of what it acknowledges, and may end or
// disconnect. Whoever works here does so by do_work(), which runs batches as long as its caller may stay:
//
//   caller                 comes by                               stays
//   a post                 transmit()                             sends; batches only with much to send
//   a poll                 progress()                             a few batches, while there is to send
//   the engine thread      service()                              until nothing comes, or the program polls
//   the peer resolver      resolve_pending()                      one batch: what waited for a peer
//
// Two ways are shorter than a batch. Eager sends, short messages between lanes of one host, are sent by
// transmit() and taken by progress() before either comes to do_work() (lane_eager.cc). Messages without
// packets have gone already when completed_direct() publishes what they bring (lane_direct.cc).
//
// What a batch goes through are classes of their own; the lane says in which order.
#pragma once

#include <infiniband/verbs.h>
#include <poll.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "base/batch_clock.h"
#include "base/clock.h"
#include "control/client.h"
#include "control/page_writer.h"
#include "engine/completion_batch.h"
#include "engine/deadlines.h"
#include "engine/delayed_ack.h"
#include "engine/eager_ack_watch.h"
#include "engine/ethernet_ports.h"
#include "engine/event_looks.h"
#include "engine/kernel_drop_watch.h"
#include "engine/lane_timers.h"
#include "engine/last_poll.h"
#include "engine/local_addresses.h"
#include "engine/multicast_groups.h"
#include "engine/packet_looks.h"
#include "engine/page_rows.h"
#include "engine/poll_moderation.h"
#include "engine/qp_table.h"
#include "engine/receive_hold.h"
#include "engine/scheduler.h"
#include "engine/streams.h"
#include "flow/credit_messages.h"
#include "flow/path_table.h"
#include "link/kernel_drops.h"
#include "link/link.h"
#include "rnic/lane_port.h"
#include "rnic/queue_pair.h"
#include "samehost/local_peers.h"
#include "transport/ib/rx_packet.h"

namespace softrnic::engine {

class Lane final : public rnic::LanePort, private link::Receiver, private samehost::EagerReceiver {
 public:
  using ResolvePeer = samehost::PeerResolution::ResolvePeer;

  /// `page` and `share` outlive the lane. `share` or `doorbell`, which others ring, may be none: then
  /// there is no direct path.
  Lane(std::uint8_t number, std::uint16_t first_index, std::unique_ptr<link::Link> link,
       control::PageWriter& page, samehost::DirectShare* share, UniqueFd doorbell, ResolvePeer resolve_peer);
  ~Lane() = default;
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;

  std::uint8_t number() const { return number_; }
  /// False: descriptors ran out, and the lane has no clock.
  bool valid() const { return timers_.valid() && peers_.valid(); }

  // ---- rnic::LanePort
  QuickMutex& mutex() override { return mutex_; }
  Expected<Qpn, Failure> attach(rnic::QueuePair& qp) override;
  void detach(rnic::QueuePair& qp) override;
  void transmit(rnic::QueuePair& qp) override;
  void take_arrived() override;
  void completed_direct(rnic::QueuePair& qp) override;
  void deliver(rnic::CompletionQueue& cq, const ibv_wc& wc, bool solicited) override;
  void discard(rnic::QueuePair& qp) override;
  ib::PathWindow& window(const ib::AddressVector& path, Qpn remote) override;
  ib::PathWindow* gauged_window(const ib::AddressVector& path, Qpn remote) override;
  void leave_window(rnic::QueuePair& qp) override { scheduler_.remove(qp); }
  rnic::Silence silence(const ib::AddressVector& path, bool full_packet) override;
  bool may_go_direct(const rnic::QueuePair& qp) override;
  rnic::DirectResult direct(const rnic::DirectStep& step) override;
  bool direct_empty(const rnic::DirectStep& step) override;
  Expected<std::uint64_t, Reason> execute_atomic(std::uint64_t* word,
                                                 const ib::AtomicOperation& operation) override {
    return peers_.execute_atomic(word, operation);
  }
  void wait_for_accessors() override;
  bool join(rnic::QueuePair& qp, const wire::Gid& group) override;
  bool leave(rnic::QueuePair& qp, const wire::Gid& group) override;
  Expected<std::uint32_t, Failure> attach(rnic::WorkQueue& queue) override;
  void detach(rnic::WorkQueue& queue) override;
  void publish_completions() override { publish(); }
  Expected<void, Failure> add_flow(rnic::Flow& flow) override;
  void remove_flow(rnic::Flow& flow) override;
  Expected<rnic::StreamPort*, Failure> add_stream(rnic::QueuePair& qp, UniqueFd& socket,
                                                  const rnic::StreamStart& start) override;
  void remove_stream(rnic::StreamPort& stream) override;
  ib::Total* totals() override { return rows_.totals(); }
  TimePoint now() override;
  void changed(rnic::QueuePair& qp) override;
  rnic::Effort progress(rnic::CompletionSink& sink) override;
  void forget(rnic::CompletionQueue& cq) override;
  void quiesce() override;

  // ---- for the engine thread and the process, without the lock

  /// Runs batches until nothing is left, a fair share is done or the program polls. Returns packets read.
  /// `insist` false: does nothing while somebody else is at work here. `makes_way`: one round is enough, as a
  /// program that takes messages from memory itself and is off the processor for a moment posts receives when
  /// it is back. If all that comes meanwhile were taken for it, it would run out of them.
  std::size_t service(bool insist, bool makes_way = false);
  /// Something is to be done that a program's polling does not do.
  bool needs_service() const { return timers_.needs_thread(); }
  LastPoll::Age last_poll() const { return last_poll_.age(monotonic_now()); }
  /// How long the engine thread may leave what comes to a program that polls.
  Duration longest_pause() const {
    return packet_looks_.awaited() ? PollModeration::kLongest : PollModeration::kLongestOfStreams;
  }
  /// How often a poll of the program took eager sends; wraps.
  std::uint32_t eager_polls() const { return last_poll_.eager_polls(); }
  /// Asks for the lanes of this host that this one is to talk to and does not know, and sends what waited for
  /// that. By one thread, which may have to wait for the daemon. False: there were none.
  bool resolve_pending();
  /// Readable when resolve_pending() has somebody to ask for.
  int pending_fd() const { return peers_.pending_fd(); }
  /// The engine thread is there; to be called by it, as the last thing too.
  void begin_life() { peers_.begin_life(); }
  void end_life() { peers_.end_life(); }
  /// Readable when service() has packets to read.
  int readable_fd() const { return link_->readable_fd(); }
  /// What is to be waited for there: that it is readable, and writable while the link is full.
  short readable_events() const { return link_->is_full() ? POLLIN | POLLOUT : POLLIN; }
  /// Readable when service() has Ethernet frames to read; -1: never.
  int frames_fd() const { return ports_.readable_fd(); }
  /// Readable when service() has streams to read, or to write on; -1: never. For the engine thread alone.
  int streams_fd() { return streams_.fd_to_watch(); }
  /// Readable when a lane of this host wants to be read after arm_doorbell(); -1: never.
  int doorbell_fd() const { return rings_ != nullptr ? rings_->doorbell_fd() : -1; }
  /// Before a wait for these descriptors. False: do not wait. After true comes disarm_doorbell().
  bool arm_doorbell();
  /// After arm_doorbell() was true and RingLink::kRecheck has passed: there is something to do
  /// that nobody will wake for.
  bool recheck_doorbell();
  void disarm_doorbell() {
    if (rings_ != nullptr) rings_->disarm_doorbell();
  }
  /// Readable when service() has something to do for reasons of time, or because somebody left work undone.
  int timer_fd() const { return timers_.fd(); }
  void set_addresses(std::vector<device::GidEntry> addresses);
  /// What streams of TCP have to do with outlives the lane. Before there are queue pairs.
  void set_stream_options(const Streams::Options& options) { streams_.set_options(options); }
  /// The other lanes of the process, which live as long as there are queue pairs. Before there are.
  void set_siblings(std::vector<Lane*> siblings) { siblings_ = std::move(siblings); }
  /// Whoever holds the lock uses no memory of a window until he says so: nobody need wait for him.
  void rest(bool at_rest) { at_rest_.store(at_rest, std::memory_order_seq_cst); }
  /// Queue pairs and work queues.
  std::size_t queue_pairs();
  /// In a forked child, with the lock held: the lane stays the parent's; here it does nothing from now on.
  void abandon();

 private:
  // link::Receiver
  void packet(const ib::RxPacket& packet) override;
  bool eager(const samehost::RingEagerSend& message, std::uint8_t lane) override;
  void dropped(const Reason& reason, ib::Counter counter, Qpn qpn, std::uint64_t packets) override;

  // ---- the loop
  enum class Caller : std::uint8_t { post, poll, flush, engine_thread, engine_thread_in_passing, resolver };
  struct Work {
    unsigned rounds = 0;      ///< batches
    std::size_t last = 0;     ///< packets read by the last one
    std::size_t packets = 0;  ///< by all
  };
  /// Runs batches as long as the caller may stay, the first at `now`, and ends them.
  Work do_work(Caller caller, TimePoint now);
  bool send_before_batch(const Work& done, TimePoint now);
  /// Something is left to send, and the link takes it.
  bool can_send() const { return scheduler_.has_work() && !link_->is_full(); }
  bool may_stay(Caller caller, const Work& done) const;
  std::size_t batch(TimePoint now);
  struct Timetable;
  void arm(Duration hand_over);
  bool quick_poll(std::uint32_t polls) const;
  /// Lifelines are looked at as often as the socket, a look at which costs as much as a message.
  bool streams_due(TimePoint now) const {
    return rings_ == nullptr || streams_.carrying_messages() != 0 || rings_->activity().looks_below(now);
  }
  bool packet_has_come(TimePoint now);
  bool has_news(TimePoint now);
  bool program_polls() const;
  // ---- packets: lane_packets.cc
  std::size_t receive_packets();
  /// Queue pairs or their streams came or went: packets may be waited for, or no more.
  void await_packets();
  void hand_over(QpSlot& slot, const ib::RxPacket& packet);
  void look_after_held();
  bool send();
  void expire();
  void touch(rnic::QueuePair& qp);
  void touch(QpSlot* slot);
  // ---- Ethernet frames of raw packet queue pairs: lane_frames.cc
  Expected<void, Failure> use_port(const rnic::QueuePair& qp);
  void leave_port(const rnic::QueuePair& qp);
  std::size_t receive_frames();
  void flush_frames();
  void settle_frames();
  std::size_t receive_streams();
  void read_rings();
  // ---- paths: lane_paths.cc
  void look_for(flow::Path& path, bool local);
  /// Room for so many queue pairs and for all paths.
  void reserve(std::size_t qps);
  // ---- without packets: lane_direct.cc
  control::PathChoice direct_state(const rnic::QueuePair& qp) const;
  bool lets_go();
  // ---- short messages on one host: lane_eager.cc
  bool send_eager(rnic::QueuePair& qp);
  bool poll_eager(rnic::CompletionSink& sink, std::uint32_t polls);
  void acknowledge_eager();
  std::size_t take_acks();
  bool any_ack_has_come();
  // ---- what others see: lane_completions.cc
  void publish();
  void lost(const CompletionBatch::Completion& completion);
  void outdate_row(rnic::QueuePair& qp);
  void outdate_row(QpSlot& slot);
  void write_rows();

  const std::uint8_t number_;
  QuickMutex mutex_;
  std::unique_ptr<link::Link> link_;
  samehost::RingLink* rings_ = nullptr;  ///< peers_.rings(): these are before link_
  BatchClock clock_;
  std::vector<Lane*> siblings_;
  std::atomic<bool> at_rest_{false};
  bool abandoned_ = false;
  bool unread_ = false;  ///< the link may hold packets that it has read already
  PacketLooks packet_looks_;
  LastPoll last_poll_;
  LaneTimers timers_;

  QpTable qps_;
  flow::PathTable paths_;
  LocalAddresses addresses_;
  flow::CreditMessages credit_;
  samehost::LocalPeers peers_;
  /// without packets since a post looked at the clock; in kOneClockRead
  std::uint32_t direct_since_clock_ = 0;
  Scheduler<rnic::QueuePair> scheduler_;
  Deadlines<rnic::QueuePair> deadlines_;
  MulticastGroups groups_;
  EventLooks event_looks_{timers_};
  CompletionBatch completions_{event_looks_};
  EagerAckWatch eager_acks_;
  OwedAck owed_ack_;
  DelayedAck delayed_ack_;
  ReceiveHold hold_;
  KernelDropWatch kernel_drops_{link::kernel_drops};
  EthernetPorts ports_;
  Streams streams_;
  std::size_t work_queues_ = 0;
  std::uint32_t work_queue_numbers_ = 0;  ///< given out
  PageRows rows_;
};

}  // namespace softrnic::engine
