// A queue pair whose rate is limited. Its requests go by packets alone, also on one host: what goes without
// them passes no place where it could wait.
#include <cerrno>
#include <mutex>

#include "base/hot_path.h"
#include "base/reason_id.h"
#include "rnic/queue_pair.h"
#include "transport/ib/packet_builder.h"
#include "wire/opcode.h"

namespace softrnic::rnic {
namespace {

constexpr bool answers_requests(ibv_qp_type type) {
  return type != IBV_QPT_UC && type != IBV_QPT_UD && type != IBV_QPT_RAW_PACKET;
}

}  // namespace

Expected<void, Failure> QueuePair::limit_rate(const RateLimit::Settings& settings) {
  const std::lock_guard lock(lane_.mutex());
  if (type_ == IBV_QPT_XRC_RECV) return refused_here(refuse(EOPNOTSUPP, ReasonId::rate_limit_type, type_));
  if (is_iwarp()) return refused_here(refuse(EOPNOTSUPP, ReasonId::iwarp_no_rate));
  if (state_ != IBV_QPS_RTS) return refused_here(refuse(EINVAL, ReasonId::rate_limit_state, state_));
  if (auto ok = RateLimit::check(settings); !ok) return refused_here(ok.error());
  set_rate_limit(settings);
  lane_.transmit(*this);
  return {};
}

void QueuePair::set_rate_limit(const RateLimit::Settings& settings) {
  const bool limited = settings.kilobits_per_second != 0;
  rate_limit_ = limited ? std::make_unique<RateLimit>(settings) : nullptr;
  attributes_.verbs.rate_limit = settings.kilobits_per_second;
  choose_ways();
}

// What this side owes its peer leaves in any case: for its requests alone the window has no room meanwhile.
ib::Transmit QueuePair::transmit_limited(ib::TxPacket& out, TimePoint now) {
  const bool sends = state_ == IBV_QPS_RTS || state_ == IBV_QPS_SQD;
  const bool closed = sends && !rate_limit_->open(now);
  if (closed && !answers_requests(type_)) {
    if (endpoint_->outstanding_sends() != 0) rate_limit_->wait();
    return ib::Transmit::idle;
  }
  if (closed) window()->hold(true);
  const ib::Transmit result = packets_->transmit(out, now);
  if (closed) window()->hold(false);
  if (result == ib::Transmit::packet && wire::opcode_info(out.headers.bth.opcode).request)
    rate_limit_->sent(out.payload_bytes + out.packets * ib::kPacketOverhead, now);
  if (result != ib::Transmit::blocked || !closed) return result;
  rate_limit_->wait();
  return ib::Transmit::idle;
}

}  // namespace softrnic::rnic
