// A queue pair whose transport is a stream (iWARP): how it gets its stream, and how that ends.
#include <algorithm>
#include <cerrno>
#include <mutex>

#include "base/attempt.h"
#include "base/reason_id.h"
#include "rnic/address_handle.h"
#include "rnic/context.h"
#include "rnic/limits.h"
#include "rnic/queue_pair.h"
#include "rnic/stream_states.h"

namespace softrnic::rnic {
namespace {

/// Where nobody has set access flags: siw and adapters ask for none, and programs connect by rdma_cm without
/// a call of ibv_modify_qp.
constexpr std::uint32_t kDefaultAccess = ib::kRemoteWrite | ib::kRemoteRead | ib::kRemoteAtomic;

/// Between two queue pairs of one host. No packet is lost there as a rule; a peer that is silent has as long
/// as that of a stream (link/tcp_stream.cc), and one without a receive is asked again soon.
constexpr std::uint32_t kSameHostMtu = 4096;
constexpr std::uint8_t kSameHostTimeout = 21;   // 8.6 s; with 7 retries 69 s, where a stream has 60
constexpr std::uint8_t kSameHostRnrTimer = 18;  // 5.12 ms
constexpr std::uint8_t kMostRetries = 7;

std::uint8_t reads_of(std::uint16_t agreed) {
  return static_cast<std::uint8_t>(std::min<std::uint32_t>(agreed, limits::kMaxReadsPerQp));
}

}  // namespace

iwarp::StreamEndpoint& QueuePair::stream_endpoint() const {
  if (same_host_ != nullptr) return same_host_->lifeline();
  return *iwarp_;
}

Expected<void, Failure> QueuePair::start_stream(UniqueFd& socket, const StreamStart& start) {
  const std::lock_guard lock(lane_.mutex());
  if (!is_iwarp() || port_ != nullptr || state_ > IBV_QPS_RTR)
    return refused_here(refuse(EINVAL, ReasonId::iwarp_stream_state, state_));
  if (!attributes_.access_given)
    attributes_.verbs.qp_access_flags = attributes_.transport.access = kDefaultAccess;
  const auto started = start.same_host ? start_on_same_host(socket, start) : start_by_stream(socket, start);
  if (!started) return refused_here(started.error());
  attributes_.verbs.max_rd_atomic = reads_of(start.agreement.ord);
  attributes_.verbs.max_dest_rd_atomic = reads_of(start.agreement.ird);
  if (state_ != IBV_QPS_ERR) state_ = IBV_QPS_RTS;
  lane_.changed(*this);
  lane_.transmit(*this);
  return {};
}

Expected<void, Failure> QueuePair::start_by_stream(UniqueFd& socket, const StreamStart& start) {
  iwarp::Attributes attributes{.access = attributes_.transport.access,
                               .extensions = start.agreement.extensions};
  iwarp_->start(attributes, start.agreement, lane_.now());
  const auto port = lane_.add_stream(*this, socket, start);
  if (!port) {
    iwarp_->reset();
    return Unexpected{port.error()};
  }
  port_ = *port;
  attributes_.transport.path.destination = port_->peer();
  attributes.emss = port_->emss();
  iwarp_->update(attributes);
  return {};
}

// What lacks memory once the socket is taken is told as the end of the connection, which is there by then.
Expected<void, Failure> QueuePair::start_on_same_host(UniqueFd& socket, const StreamStart& start) {
  if (start.same_host->own != qpn_)  // the peer would talk to another one
    return Unexpected{refuse(EINVAL, ReasonId::iwarp_stream_state, state_)};
  ib::Host& host = *this;
  auto endpoint = std::make_unique<iwarp::SameHostEndpoint>(capacity(), qpn_, host);
  const auto port = lane_.add_stream(*this, socket, start);
  if (!port) return Unexpected{port.error()};
  port_ = *port;
  same_host_ = std::move(endpoint);
  endpoint_ = same_host_.get();
  packets_ = &same_host_->rc();
  set_same_host_attributes(start);
  choose_ways();
  state_ = IBV_QPS_RTR;  // from which on a lane takes its eager ACKs for those of a new connection
  lane_.changed(*this);
  const ib::Attributes& t = attributes_.transport;
  if (!attempt([&] { same_host_->start(t, window_of(t.path)); })) {
    explain(because(ReasonId::out_of_memory, 0), nullptr);
    enter_error();
  }
  return {};
}

void QueuePair::set_same_host_attributes(const StreamStart& start) {
  ib::Attributes& t = attributes_.transport;
  t.remote = start.same_host->qpn;
  t.send_psn = start.same_host->send_psn;
  t.receive_psn = start.same_host->receive_psn;
  t.path.source = t.path.destination = wire::Gid::ipv4_loopback();  // whatever addresses TCP has
  t.path.source_port = source_port(0, qpn_, t.remote);
  t.path_mtu = kSameHostMtu;
  t.max_reads_out = reads_of(start.agreement.ord);
  t.max_reads_in = reads_of(start.agreement.ird);
  t.timeout = kSameHostTimeout;
  t.retry_count = kMostRetries;
  t.rnr_retry = kMostRetries;
  t.min_rnr_timer = kSameHostRnrTimer;
}

// Of what a program sets while there is a connection the access counts. Programs may name the READs that are
// under way at once, but MPA has agreed on those.
void QueuePair::keep_to_agreement(std::uint8_t reads_out, std::uint8_t reads_in) {
  attributes_.verbs.max_rd_atomic = reads_out;
  attributes_.verbs.max_dest_rd_atomic = reads_in;
  const std::uint32_t access = attributes_.transport.access;
  if (same_host_ == nullptr) return iwarp_->set_access(access);
  same_host_->set_access(access);
  attributes_.transport = same_host_->attributes();
}

void QueuePair::stream_moved() {
  if (same_host_ != nullptr) same_host_->stream_moved();
  settle();
}

Expected<void, Failure> QueuePair::close_stream() {
  if (!is_iwarp()) return refused_here(refuse(EINVAL, ReasonId::iwarp_stream_state, state_));
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_SQD;
  return modify(attributes, IBV_QP_STATE);
}

Expected<void, Failure> QueuePair::check_modify_stream(const ibv_qp_attr& attributes, std::uint32_t mask,
                                                       ibv_qp_state to) const {
  if (auto ok = check_stream_transition(state_, to, mask); !ok) return ok;
  if ((mask & IBV_QP_CUR_STATE) != 0 && attributes.cur_qp_state != state_)
    return Unexpected{refuse(EINVAL, ReasonId::cur_state_mismatch, attributes.cur_qp_state, state_)};
  return {};
}

void QueuePair::enter_stream(ibv_qp_state to) {
  if (to == IBV_QPS_SQD && state_ == IBV_QPS_ERR) return;
  if (to == IBV_QPS_SQD && state_ == IBV_QPS_RTS) stream_endpoint().close(lane_.now());
  state_ = to;
}

ib::Transmit QueuePair::transmit_stream(ib::TxPacket& out, TimePoint now) {
  if (same_host_ != nullptr) return transmit_on_same_host(out, now);
  out.payload_bytes = port_ != nullptr ? static_cast<std::uint32_t>(port_->write(now)) : 0;
  return out.payload_bytes != 0 ? ib::Transmit::direct : ib::Transmit::idle;
}

ib::Transmit QueuePair::transmit_on_same_host(ib::TxPacket& out, TimePoint now) {
  const ib::Transmit result = packets_->transmit(out, now);
  const bool over = result == ib::Transmit::idle || result == ib::Transmit::blocked;
  // Nobody asks again: the end may be due behind the byte.
  while (over && port_ != nullptr && same_host_->lifeline().has_business() && port_->write(now) != 0)
    continue;
  return result;
}

void QueuePair::leave_stream() {
  if (port_ == nullptr) return;
  lane_.remove_stream(*port_);
  port_ = nullptr;
}

void QueuePair::leave_same_host() {
  if (same_host_ == nullptr) return;
  lane_.leave_window(*this);
  endpoint_ = iwarp_;
  packets_ = no_packets_.get();
  same_host_.reset();
}

}  // namespace softrnic::rnic
