// A queue pair: the verbs around one endpoint of the transport.
//
// The lock of its lane guards it. The verbs (create … post_recv) take it themselves; what is under "for the
// lane" is called with the lock held.
#pragma once

#include <infiniband/verbs.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "base/expected.h"
#include "base/explanation_history.h"
#include "base/reason.h"
#include "base/unique_fd.h"
#include "ethernet/flow_key.h"
#include "ethernet/received_frame.h"
#include "rnic/attached_counters.h"
#include "rnic/lane_port.h"
#include "rnic/memory_window.h"
#include "rnic/object.h"
#include "rnic/on_demand_memory.h"
#include "rnic/qp_attributes.h"
#include "rnic/qp_events.h"
#include "rnic/qp_states.h"
#include "rnic/queue_pair_init.h"
#include "rnic/rate_limit.h"
#include "rnic/receive_source.h"
#include "rnic/rendezvous.h"
#include "rnic/scheduler_hook.h"
#include "rnic/stream_port.h"
#include "transport/ib/endpoint.h"
#include "transport/ib/host.h"
#include "transport/ib/no_packets.h"
#include "transport/ib/rx_packet.h"
#include "transport/iwarp/endpoint.h"
#include "transport/iwarp/same_host_endpoint.h"

namespace softrnic::rnic {

class CompletionCounter;
class CompletionQueue;
class Context;
class ProtectionDomain;
class XrcDomain;

/// What other layers show of a QP.
struct QueuePairSummary {
  Qpn local;
  Qpn remote;
  ibv_qp_type type{};
  ibv_qp_state state{};
  std::uint32_t send_psn = 0;
  std::uint32_t receive_psn = 0;
  std::uint32_t path_mtu = 0;  ///< bytes
  wire::Gid peer_gid;
};

class QueuePair final : public EventTarget, private ib::Host {
 public:
  /// Returns the capabilities made in `init.cap`. Fails as fitted() does; ENOMEM; what Lanes::choose() and
  /// LanePort::attach() refuse.
  static Expected<std::unique_ptr<QueuePair>, Failure> create(ProtectionDomain& pd, QueuePairInit& init);
  /// An XRC target, which has no queues: requests name an SRQ of `domain`, to which it has to be added.
  static Expected<std::unique_ptr<QueuePair>, Failure> create(Context& context, XrcDomain& domain,
                                                              QueuePairInit& init);
  ~QueuePair();

  /// EBUSY while attached to multicast groups, or flows lead here. Else takes the QP off its lane, removes
  /// its completions from its CQs and waits until its fetched events are acknowledged; delete the object
  /// afterwards.
  Expected<void, Failure> destroy();

  /// ibv_modify_qp. retry_cnt and rnr_retry above 7 are taken as 7.
  Expected<void, Failure> modify(const ibv_qp_attr& attributes, int mask);
  /// ibv_query_qp: everything, whatever the mask. PSNs are those of now.
  void query(ibv_qp_attr& attributes, QueuePairInit& init);

  /// Everything before `*bad_wr` is posted.
  Expected<void, Failure> post_send(ibv_send_wr* wr, ibv_send_wr** bad_wr);
  /// All or none (ibv_wr_complete).
  Expected<void, Failure> post_batch(const ibv_send_wr* first);
  Expected<void, Failure> post_recv(ibv_recv_wr* wr, ibv_recv_wr** bad_wr);

  /// ibv_modify_qp_rate_limit. EINVAL: not in RTS, or what RateLimit::check() refuses; EOPNOTSUPP: an XRC
  /// target.
  Expected<void, Failure> limit_rate(const RateLimit::Settings& settings);

  /// UD only, EINVAL else. Attaching twice is the same as once.
  Expected<void, Failure> attach_multicast(const wire::Gid& group);
  Expected<void, Failure> detach_multicast(const wire::Gid& group);

  /// From now on `counter` counts these operations (bits of ib::Counted). EINVAL: the QP is beyond INIT, or
  /// the counter is another device's; EBUSY: one of them is counted already.
  Expected<void, Failure> attach_counter(CompletionCounter& counter, std::uint8_t operations);

  // ---- iWARP
  /// To RTS, with a connection that MPA has set up. Takes `socket`, which is one of TCP and does not block,
  /// on success only. EINVAL: not of iWARP, in RTS already or beyond; what LanePort::add_stream() refuses.
  Expected<void, Failure> start_stream(UniqueFd& socket, const StreamStart& start);
  /// Orderly: as ibv_modify_qp to SQD. EINVAL: there is no connection.
  Expected<void, Failure> close_stream();

  // ---- XRC targets, by XrcDomain
  /// The SRQ is about to be destroyed.
  void forget(const SharedReceiveQueue& srq);
  /// From now on all requests are refused.
  void leave_domain();

  UseCount flows;  ///< that lead here

  // ---- constant
  Qpn qpn() const { return qpn_; }
  std::uint32_t number() const override { return qpn_.value; }
  ibv_qp_type type() const { return type_; }
  Context& context() const { return context_; }
  LanePort& lane() const { return lane_; }
  /// Of all QPs of the process, and never another's: what windows of type 2 are bound to. Not 0.
  std::uint32_t serial() const { return serial_; }

  // ---- for the lane, with its lock held
  ibv_qp_state state() const { return state_; }
  /// Whether receive() would drop the packet for want of a posted receive, untold (UC, UD).
  bool lacks_receive(const ib::RxPacket& packet);
  /// A packet for this QP. Counts and explains those that its state does not let through.
  void receive(const ib::RxPacket& packet, TimePoint now);
  /// Raw packets: a frame that the rule of a flow with this tag sends here.
  void receive_frame(const ethernet::ReceivedFrame& frame, const ethernet::ParsedFrame& parsed,
                     std::uint32_t flow_tag);
  /// How many frames find a receive for certain; of an SRQ nobody knows, so many.
  std::size_t room_for_frames() const;
  ib::Transmit transmit(ib::TxPacket& out, TimePoint now);
  void expire(TimePoint now);
  /// See ib::Endpoint.
  bool next_eager(ib::EagerSend& out) { return !by_packets_ && packets_->next_eager(out); }
  void eager_sent(TimePoint now) { packets_->eager_sent(now); }
  bool receive_eager(const ib::EagerSend& eager, const wire::Gid& source) {
    return packets_->receive_eager(eager, source);
  }
  void acknowledged(std::uint32_t psn, std::uint8_t credit, TimePoint now);
  /// CompletionQueue::push() has lost a completion of this QP: it goes into the error state, with
  /// IBV_EVENT_QP_FATAL (a Class G error of IBTA 9.9). Not from within a call of the endpoint. More
  /// completions may be delivered.
  void completion_lost(const CompletionQueue& cq, std::uint64_t wr_id);
  TimePoint deadline() const {
    const TimePoint of_endpoint = endpoint_->deadline();
    return rate_limit_ == nullptr ? of_endpoint : std::min(of_endpoint, rate_limit_->deadline());
  }
  SchedulerHook<QueuePair>& hook() { return hook_; }
  /// What it has of packets; of iWARP by a stream, nothing (ib::NoPackets).
  ib::Endpoint& endpoint() { return *packets_; }
  bool is_iwarp() const { return iwarp_ != nullptr; }
  /// Its messages go by a stream.
  bool by_stream() const { return is_iwarp() && same_host_ == nullptr; }
  /// transmit() has something to do: a work request, or what its lifeline has for its stream.
  bool has_business() const {
    return packets_->has_unsent() || (same_host_ != nullptr && same_host_->lifeline().has_business());
  }
  /// Of iWARP: what is at this end of its stream.
  iwarp::StreamEndpoint& stream_endpoint() const;
  /// stream_endpoint() was called into, and may have come to its end.
  void stream_moved();
  /// Of the QP, what its stream has met with.
  void explain_stream(const Reason& reason) { explain(reason, nullptr); }
  QueuePairSummary summary() const;
  const ib::Counters& counters() const { return counters_; }
  /// What was explained about this QP; nullptr: nothing yet.
  const ExplanationHistory* explained() const { return explained_.get(); }
  bool attached_to(const wire::Gid& group) const;
  /// Its own datagram has come back, as it is in the group that it was sent to: whether it has no use for it.
  bool spurns_own(const ib::RxPacket& packet) { return init_.blocks_own_multicast || lacks_receive(packet); }
  /// Whether the next request needs no look at the QP: it neither changes its state nor raises an event, and
  /// nobody counts it.
  bool takes_requests() const {
    constexpr std::uint8_t kRemote = bit_of(ib::Counted::remote_read) | bit_of(ib::Counted::remote_write);
    const bool ready =
        state_ == IBV_QPS_RTS || state_ == IBV_QPS_SQD || (state_ == IBV_QPS_RTR && events_.established());
    return ready && (counted() & kRemote) == 0;
  }
  const CompletionQueue* send_cq() const { return init_.send_cq; }  ///< nullptr: an XRC target
  const ib::Attributes& transport_attributes() const { return attributes_.transport; }
  const ProtectionDomain* pd() const { return pd_; }  ///< an XRC target: of the SRQ that was named last
  ib::PathWindow* window() const { return packets_->window(); }
  std::uint32_t receive_psn() const { return packets_->receive_psn(); }
  /// What the program has set is obeyed by packets alone; or it goes by a stream.
  bool by_packets() const { return by_packets_; }

 private:
  static Expected<std::unique_ptr<QueuePair>, Failure> make(Context& context, ProtectionDomain* pd,
                                                            XrcDomain* domain, QueuePairInit& init);
  QueuePair(Context& context, ProtectionDomain* pd, XrcDomain* domain, LanePort& lane,
            const QueuePairInit& init);

  // ib::Host
  Expected<ib::HostMemory, Reason> local_memory(MemoryKey lkey, std::uint64_t address, std::uint64_t length,
                                                ib::LocalUse use) override;
  Expected<ib::HostMemory, Reason> remote_memory(MemoryKey rkey, std::uint64_t address, std::uint64_t length,
                                                 std::uint32_t access) override;
  Expected<void, Reason> remote_region(MemoryKey rkey, std::uint32_t access) override;
  bool load(std::byte* to, const std::byte* on_demand, std::size_t size) override {
    return OnDemandMemory::read(to, on_demand, size);
  }
  bool store(std::byte* on_demand, const std::byte* from, std::size_t size) override {
    return OnDemandMemory::write(on_demand, from, size);
  }
  std::byte* bounce_buffer(std::size_t size) override { return bounce_.of(size); }
  Expected<void, Reason> invalidate(MemoryKey rkey) override;
  Expected<void, Reason> select_srq(std::uint32_t number) override;
  Expected<void, Reason> execute_locally(const ib::SendWqe& wqe) override;
  const ib::RecvWqe* take_receive() override;
  const ib::RecvWqe* take_receive_for(Bytes first, std::size_t size, bool whole) override;
  std::optional<std::uint32_t> receives_posted() const override;
  ib::PathWindow* window_to(const ib::AddressVector& path, Qpn remote) override;
  bool may_go_direct() override {
    return type_ != IBV_QPT_XRC_SEND && !by_packets_ && lane_.may_go_direct(*this);
  }
  std::optional<std::uint32_t> direct(const ib::DirectMessage& message) override;
  std::optional<std::uint32_t> direct_empty(const ib::DirectMessage& message);
  Expected<std::uint64_t, Reason> execute_atomic(std::uint64_t* word,
                                                 const ib::AtomicOperation& operation) override {
    return lane_.execute_atomic(word, operation);
  }
  std::optional<std::uint64_t> execute_on_demand(std::byte* word,
                                                 const ib::AtomicOperation& operation) override {
    return OnDemandMemory::execute(word, operation);
  }
  void armed() override { attributes_.arm(); }
  ib::PathWindow* migrated() override;
  void complete(const ib::SendDone& done) override;
  void complete(const ib::RecvDone& done) override;
  ibv_wc completion(std::uint64_t wr_id, ib::Status status, const Reason& reason) const;
  ibv_wc receive_completion(const ib::RecvDone& done) const;
  /// The LIDs of a datagram of InfiniBand.
  void describe_link(const ib::RecvDone& done, ibv_wc& wc) const;
  void add_ended(ib::Counted operation, bool success, std::uint64_t bytes) override;
  void event(ib::QpEvent event) override;
  void explain(const Reason& reason, const std::uint64_t* wr_id) override;
  void explain_silence(const Reason& reason, const std::uint64_t* wr_id);

  /// Adds to explained(). Does not fail: without memory it is forgotten.
  Explanation remember(const Reason& reason, const std::uint64_t* wr_id);
  Unexpected<Failure> refused_here(const Failure& failure, const std::uint64_t* wr_id = nullptr);
  MemorySource* memory_source() const;
  ib::Capacity capacity() const;
  Expected<void, Failure> attach_to_lane();
  void make_endpoint(const ib::Capacity& capacity);
  Expected<void, Failure> check_modify(const ibv_qp_attr& attributes, std::uint32_t mask,
                                       ibv_qp_state to) const;
  void choose_ways();
  ib::PathWindow& window_of(const ib::AddressVector& path);
  void enter(ibv_qp_state to);
  void start_responder();
  void start_requester();
  void enter_error();
  void reset();
  void settle();
  void set_rate_limit(const RateLimit::Settings& settings);
  ib::Transmit transmit_otherwise(ib::TxPacket& out, TimePoint now);
  ib::Transmit transmit_limited(ib::TxPacket& out, TimePoint now);
  // ---- iWARP: queue_pair_stream.cc
  Expected<void, Failure> check_modify_stream(const ibv_qp_attr& attributes, std::uint32_t mask,
                                              ibv_qp_state to) const;
  Expected<void, Failure> start_by_stream(UniqueFd& socket, const StreamStart& start);
  Expected<void, Failure> start_on_same_host(UniqueFd& socket, const StreamStart& start);
  void enter_stream(ibv_qp_state to);
  ib::Transmit transmit_stream(ib::TxPacket& out, TimePoint now);
  ib::Transmit transmit_on_same_host(ib::TxPacket& out, TimePoint now);
  void set_same_host_attributes(const StreamStart& start);
  void keep_to_agreement(std::uint8_t reads_out, std::uint8_t reads_in);
  void leave_stream();
  void leave_same_host();
  void flush_receives();
  void purge_completions();
  // ---- an SRQ with tag matching: queue_pair_tags.cc
  void complete_tagged(const ib::RecvDone& done);
  void complete_rendezvous(const ib::SendDone& done);
  void end_rendezvous(TagEntry& entry, ib::Status status, const Reason& reason);
  void explain_incomplete(const TagEntry& entry);
  void flush_waiting_rendezvous();
  void give_up_tags();
  /// What has become of a work request: its completion has been delivered, or it waits for its turn.
  enum class Posted : std::uint8_t { done, queued };
  Expected<Posted, Failure> post_one(const ibv_send_wr& wr);
  Expected<void, Failure> check_send(const ibv_send_wr& wr) const;
  Posted enqueue(const ibv_send_wr& wr, ib::SendSlot slot);
  void posted(bool all_done);
  /// Of the program.
  std::uint32_t posted_sends() const {
    return endpoint_->outstanding_sends() - (rendezvous_ != nullptr ? rendezvous_->posted() : 0);
  }
  Failure queue_full() const;
  void flush_send(const ibv_send_wr& wr);
  Expected<void, Reason> changed_window(const Expected<Taken, Reason>& change);

  Context& context_;
  ProtectionDomain* const parent_;  ///< what it was made with; nullptr: an XRC target
  const ProtectionDomain* pd_;      ///< whose keys it uses; an XRC target: of the SRQ at hand, if any
  LanePort& lane_;
  const ibv_qp_type type_;
  const StateTable& rules_;
  const ibv_qp_type sends_as_;  ///< type_, or kStreamType
  const std::uint32_t serial_;
  QueuePairInit init_;
  Qpn qpn_;
  QueueMemory send_queue_;  ///< given up after the endpoint, when no lock is held
  std::unique_ptr<transport::Endpoint> own_endpoint_;
  std::unique_ptr<iwarp::SameHostEndpoint> same_host_;  ///< of iWARP, while its peer is on this host
  transport::Endpoint* endpoint_ = nullptr;             ///< that of the two that is in use
  ib::Endpoint* packets_ = nullptr;            ///< the same; of iWARP same_host_->rc(), or no_packets_
  iwarp::Endpoint* iwarp_ = nullptr;           ///< own_endpoint_, if it is of iWARP
  std::unique_ptr<ib::NoPackets> no_packets_;  ///< of iWARP
  StreamPort* port_ = nullptr;                 ///< the lane's, while it has a connection
  std::unique_ptr<RateLimit> rate_limit_;      ///< nullptr: none
  std::unique_ptr<Rendezvous> rendezvous_;     ///< nullptr: no SRQ with tag matching
  SchedulerHook<QueuePair> hook_;

  ibv_qp_state state_ = IBV_QPS_RESET;
  QpAttributes attributes_;
  QpEvents events_;
  bool receive_failed_ = false;  ///< UD: a bad receive, which is worse than a bad send
  bool completion_lost_ = false;
  bool by_packets_ = false;  ///< alone: what goes without them obeys no rate, and does not say MigReq
  bool plain_ = true;        ///< its packets leave as the endpoint makes them
  bool broken_ = false;      ///< the endpoint went into its error state, and said why
  ReceiveSource receives_;
  BounceBuffer bounce_;
  std::vector<wire::Gid> groups_;
  ib::Counters counters_;
  std::unique_ptr<ExplanationHistory> explained_;  ///< made at the first
  AttachedCounters completion_counters_;
};

}  // namespace softrnic::rnic
