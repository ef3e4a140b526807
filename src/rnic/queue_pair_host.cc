// What a queue pair does for its endpoint, and what its lane does to it.
#include <arpa/inet.h>

#include <chrono>
#include <mutex>
#include <new>

#include "base/hot_path.h"
#include "base/reason_id.h"
#include "rnic/completion_queue.h"
#include "rnic/context.h"
#include "rnic/frame_completion.h"
#include "rnic/indirection_table.h"
#include "rnic/key_table.h"
#include "rnic/qp_states.h"
#include "rnic/queue_pair.h"
#include "rnic/work_completion.h"
#include "rnic/work_requests.h"
#include "transport/ib/frame_placement.h"
#include "transport/ib/rx_packet.h"
#include "wire/frame.h"

namespace softrnic::rnic {

// ---- for the lane

bool QueuePair::lacks_receive(const ib::RxPacket& packet) { return packets_->lacks_receive(packet); }

void QueuePair::receive(const ib::RxPacket& packet, TimePoint now) {
  packets_->receive(packet, now);
  settle();
}

void QueuePair::receive_frame(const ethernet::ReceivedFrame& frame, const ethernet::ParsedFrame& parsed,
                              std::uint32_t flow_tag) {
  if (init_.table != nullptr)
    return init_.table->queue_for(init_.hash.of(parsed)).receive_frame(frame, parsed, flow_tag);
  packets_->receive_frame(inbound(frame, parsed, init_.strips_vlan, flow_tag));
  settle();
}

std::size_t QueuePair::room_for_frames() const {
  constexpr std::size_t kMany = SIZE_MAX;
  if (init_.table != nullptr) return init_.table->room_for_frames();
  return rules_[state_].hears ? receives_.posted().value_or(kMany) : kMany;
}

ib::Transmit QueuePair::transmit(ib::TxPacket& out, TimePoint now) {
  if (rendezvous_ != nullptr && state_ == IBV_QPS_RTS) [[unlikely]]
    rendezvous_->post(*packets_);
  const ib::Transmit result = plain_ ? packets_->transmit(out, now) : transmit_otherwise(out, now);
  if (result != ib::Transmit::packet) settle();  // the packet's fragments live until the next call
  return result;
}

SOFTRNIC_OUT_OF_LINE ib::Transmit QueuePair::transmit_otherwise(ib::TxPacket& out, TimePoint now) {
  return is_iwarp() ? transmit_stream(out, now) : transmit_limited(out, now);
}

void QueuePair::expire(TimePoint now) {
  endpoint_->expire(now);
  if (rate_limit_ != nullptr) rate_limit_->expire(now);
  settle();
}

void QueuePair::acknowledged(std::uint32_t psn, std::uint8_t credit, TimePoint now) {
  packets_->acknowledged(psn, credit, now);
  settle();
}

// ---- for the endpoint

ibv_wc QueuePair::completion(std::uint64_t wr_id, ib::Status status, const Reason& reason) const {
  return work_completion(wr_id, status, reason, qpn_.value);
}

Expected<ib::HostMemory, Reason> QueuePair::local_memory(MemoryKey lkey, std::uint64_t address,
                                                         std::uint64_t length, ib::LocalUse use) {
  const ProtectionDomain* const pd = use == ib::LocalUse::receive ? receives_.pd() : pd_;
  const std::uint32_t access = use == ib::LocalUse::send ? 0 : IBV_ACCESS_LOCAL_WRITE;
  return KeyTable::process().local(pd, lkey, address, length, access);
}

Expected<ib::HostMemory, Reason> QueuePair::remote_memory(MemoryKey rkey, std::uint64_t address,
                                                          std::uint64_t length, std::uint32_t access) {
  return KeyTable::process().remote(pd_, rkey, address, length, access, serial_);
}

// FLUSH has no window that allows it, so the key is that of a region.
Expected<void, Reason> QueuePair::remote_region(MemoryKey rkey, std::uint32_t access) {
  const KeyEntry* const entry = KeyTable::process().find(rkey);
  const std::uint64_t start = entry != nullptr ? entry->start : 0;
  const auto memory = KeyTable::process().remote(pd_, rkey, start, 1, access, serial_);
  if (!memory) return Unexpected{memory.error()};
  return {};
}

// Once the program hears of it, nobody is at that memory any more.
Expected<void, Reason> QueuePair::changed_window(const Expected<Taken, Reason>& change) {
  if (!change) return Unexpected{change.error()};
  if (*change == Taken::access) lane_.wait_for_accessors();
  return {};
}

Expected<void, Reason> QueuePair::invalidate(MemoryKey rkey) {
  return changed_window(invalidate_window({pd_, serial_}, rkey));
}

Expected<void, Reason> QueuePair::execute_locally(const ib::SendWqe& wqe) {
  const WindowUser user{pd_, serial_};
  return changed_window(wqe.op == ib::SendOp::bind_window ? bind_window(user, WindowBind::of(wqe))
                                                          : invalidate_window(user, wqe.rkey));
}

// A target QP has no protection domain. Requests go by that of the SRQ that they name, R_Keys too: for this
// every request of XRC names one, also a READ, which takes no receive. So do adapters: mlx5 gives targets a
// domain in which nothing of a program's is registered.
Expected<void, Reason> QueuePair::select_srq(std::uint32_t number) {
  auto selected = receives_.select(number);
  if (selected) pd_ = receives_.selected_pd();
  return selected;
}

void QueuePair::forget(const SharedReceiveQueue& srq) {
  const std::lock_guard lock(lane_.mutex());
  if (receives_.forget(srq)) packets_->forget_receive();
  pd_ = receives_.selected_pd();
}

void QueuePair::leave_domain() {
  const std::lock_guard lock(lane_.mutex());
  if (receives_.leave_domain()) packets_->forget_receive();
  pd_ = nullptr;
}

const ib::RecvWqe* QueuePair::take_receive() {
  const ib::RecvWqe* const found = receives_.take();
  if (same_host_ == nullptr) return found;
  if (found != nullptr) {
    same_host_->receive_taken();
  } else {
    same_host_->receive_lacks(lane_.now());
  }
  return found;
}

std::optional<std::uint32_t> QueuePair::receives_posted() const { return receives_.posted(); }

ib::PathWindow* QueuePair::window_to(const ib::AddressVector& path, Qpn remote) {
  return lane_.gauged_window(path, remote);
}

void QueuePair::complete(const ib::SendDone& done) {
  if (done.by_host) [[unlikely]]
    return complete_rendezvous(done);
  ibv_wc wc = completion(done.wr_id, done.status, done.reason);
  wc.opcode = completion_opcode(done.op);
  wc.byte_len = done.length;
  lane_.deliver(*init_.send_cq, wc, false);
}

void QueuePair::complete(const ib::RecvDone& done) {
  receives_.completed();
  if (done.status != ib::Status::success && done.status != ib::Status::flushed) receive_failed_ = true;
  ended(ib::Counted::receive, done.status == ib::Status::success, done.length);
  if (rendezvous_ != nullptr) [[unlikely]]
    return complete_tagged(done);
  lane_.deliver(*receives_.cq(), receive_completion(done), done.solicited);
}

void QueuePair::describe_link(const ib::RecvDone& done, ibv_wc& wc) const {
  wc.slid = done.slid.value;
  if (done.dlid.is_multicast()) return;
  const unsigned lmc = context().info()->port.infiniband.lmc;
  wc.dlid_path_bits = static_cast<std::uint8_t>(done.dlid.value & ((1U << lmc) - 1));
}

ibv_wc QueuePair::receive_completion(const ib::RecvDone& done) const {
  ibv_wc wc = completion(done.wr_id, done.status, done.reason);
  wc.opcode = done.is_write ? IBV_WC_RECV_RDMA_WITH_IMM : IBV_WC_RECV;
  wc.byte_len = done.length;
  wc.src_qp = type_ == IBV_QPT_XRC_RECV ? attributes_.transport.remote.value : done.source.value;
  wc.sl = done.service_level;
  if (!done.slid.is_reserved()) describe_link(done, wc);
  if (done.has_grh) wc.wc_flags |= IBV_WC_GRH;
  if (type_ == IBV_QPT_RAW_PACKET) describe_frame(done, wc);
  if (done.has_immediate) {
    wc.wc_flags |= IBV_WC_WITH_IMM;
    wc.imm_data = htonl(done.immediate);
  }
  if (done.has_invalidate) {
    wc.wc_flags |= IBV_WC_WITH_INV;
    wc.invalidated_rkey = done.immediate;
  }
  return wc;
}

void QueuePair::event(ib::QpEvent event) {
  // iWARP has no such event: rdma_cm tells that the connection is there
  if (is_iwarp() && event == ib::QpEvent::communication_established) return;
  events_.raise(event);
  const bool shows = event == ib::QpEvent::communication_established || event == ib::QpEvent::path_migrated;
  if (shows) lane_.changed(*this);
}

void QueuePair::explain_silence(const Reason& reason, const std::uint64_t* wr_id) {
  const ib::Attributes& transport = attributes_.transport;
  const Silence silence = lane_.silence(transport.path, reason.figures[3] == transport.path_mtu);
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(silence.within).count();
  for (std::size_t drop = 0; drop < silence.dropped.size(); ++drop) {
    if (const std::uint64_t count = silence.dropped[drop]; count != 0)
      softrnic::explain(remember(because(ReasonId::kernel_dropped, drop, count, ms), wr_id));
  }
  Reason complete = reason;
  // A network that carries less than the path MTU drops full packets and says nothing, or nothing that can be
  // trusted.
  if (silence.mtu != 0) {
    const std::size_t headers = (transport.path.destination.is_ipv4() ? wire::kIpv4Bytes : wire::kIpv6Bytes) +
                                wire::kUdpBytes + wire::kBthBytes + wire::kRethBytes + wire::kIcrcBytes;
    complete = because(ReasonId::retry_exceeded_full, reason.figures[0], reason.figures[1],
                       headers + transport.path_mtu, silence.mtu);
  }
  softrnic::explain(remember(complete, wr_id));
}

SOFTRNIC_OUT_OF_LINE void QueuePair::explain(const Reason& reason, const std::uint64_t* wr_id) {
  if (reason.id == ReasonId::retry_exceeded) return explain_silence(reason, wr_id);
  Reason complete = reason;
  if (reason.id == ReasonId::drop_qp_not_ready) {
    if (broken_) return;  // what broke it has been explained; this would only hide it
    complete.figures[0] = state_;
  }
  softrnic::explain(remember(complete, wr_id));
}

Explanation QueuePair::remember(const Reason& reason, const std::uint64_t* wr_id) {
  const Explanation explanation{.time_ns = wall_clock_ns(),
                                .qpn = qpn_.value,
                                .peer_qpn = attributes_.transport.remote.value,
                                .wr_id = wr_id != nullptr ? *wr_id : 0,
                                .has_wr_id = wr_id != nullptr,
                                .reason = reason};
  if (explained_ == nullptr) explained_.reset(new (std::nothrow) ExplanationHistory);
  if (explained_ != nullptr) explained_->add(explanation);
  return explanation;
}

}  // namespace softrnic::rnic
