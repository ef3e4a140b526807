// A queue pair whose transport is a stream (iWARP): how it gets its stream, and how that ends.
#include <algorithm>
#include <cerrno>
#include <mutex>

#include "rnic/queue_pair.h"
#include "rnic/stream_states.h"

namespace softrnic::rnic {
namespace {

/// The access flags of a queue pair are none of iWARP's: a region's STag says what peers may do with it, and
/// librdmacm, which adapters are made for, leaves them 0.
constexpr std::uint32_t kAccess = ib::kRemoteWrite | ib::kRemoteRead | ib::kRemoteAtomic;

std::uint8_t shown(std::uint16_t reads) { return static_cast<std::uint8_t>(std::min<unsigned>(reads, 255)); }

}  // namespace

Expected<void, Failure> QueuePair::start_stream(UniqueFd& socket, const StreamStart& start) {
  const std::lock_guard lock(lane_.mutex());
  if (stream_ == nullptr || port_ != nullptr || state_ > IBV_QPS_RTR)
    return refused_here(refuse(EINVAL, ReasonId::iwarp_stream_state, state_));
  iwarp::Attributes attributes{.access = kAccess, .extensions = start.agreement.extensions};
  stream_->start(attributes, start.agreement);
  const auto port = lane_.add_stream(*this, socket, start);
  if (!port) {
    stream_->reset();
    return refused_here(port.error());
  }
  port_ = *port;
  attributes.emss = port_->emss();
  stream_->update(attributes);
  attributes_.verbs.max_rd_atomic = shown(start.agreement.ord);
  attributes_.verbs.max_dest_rd_atomic = shown(start.agreement.ird);
  attributes_.transport.path.destination = port_->peer();
  state_ = IBV_QPS_RTS;
  lane_.changed(*this);
  lane_.transmit(*this);
  return {};
}

Expected<void, Failure> QueuePair::close_stream() {
  if (stream_ == nullptr) return refused_here(refuse(EINVAL, ReasonId::iwarp_stream_state, state_));
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
  if (to == IBV_QPS_SQD && state_ == IBV_QPS_RTS) stream_->close(lane_.now());
  state_ = to;
}

ib::Transmit QueuePair::transmit_stream(ib::TxPacket& out, TimePoint now) {
  out.payload_bytes = port_ != nullptr ? static_cast<std::uint32_t>(port_->write(now)) : 0;
  return out.payload_bytes != 0 ? ib::Transmit::direct : ib::Transmit::idle;
}

void QueuePair::leave_stream() {
  if (port_ == nullptr) return;
  lane_.remove_stream(*port_);
  port_ = nullptr;
}

}  // namespace softrnic::rnic
