// How the RC requester sends without packets (see Host::direct).
//
// PSNs count packets, and a message without packets has none: both sides stay where they are, and the two
// ways may take turns at message boundaries. A message may go direct when everything before it was
// acknowledged. Then the responder has nothing to do for this connection but to answer stale duplicates,
// which never changes memory.
#include "base/hot_path.h"
#include "transport/ib/outbound.h"
#include "transport/ib/rc_requester.h"

namespace softrnic::ib {
namespace {

// Bytes whose copies through a socket take longer than an ACK
constexpr std::uint32_t kWorthWaiting = 16 * 1024;
constexpr std::uint32_t kDirectBackoff = 64;

}  // namespace

bool RcRequester::one_sided(const SendEntry& entry) const {
  return entry.wqe.op == SendOp::write || is_read_or_atomic(entry);
}

bool RcRequester::nothing_in_flight() const {
  return cursor_ == begun_ && begun_ == queue_.head() && una_ == top_;
}

// With a queue that never runs empty nothing would ever go direct. So a work request waits for the ACKs of
// those before it when it is long, or one of many that could all go direct; else the wait would cost more
// than it brings. Where waiting was in vain, the next ones do not wait.
bool RcRequester::waits_for_direct(const SendEntry& entry) const {
  if (una_ == top_ || direct_backoff_ > 0 || !one_sided(entry)) return false;
  return (begun_one_sided_ || entry.wqe.length >= kWorthWaiting) && context_.host.may_go_direct();
}

// The bytes that went.
std::optional<std::uint32_t> RcRequester::go_direct(const SendEntry& entry) {
  const DirectMessage message{entry.wqe, queue_.sges(entry), queue_.inline_data(entry), direct_bytes_,
                              next_.wire()};
  const auto moved = context_.host.direct(message);
  if (!moved) {
    if (direct_bytes_ > 0) begin(queue_.front());  // although the queue may be draining by now
    direct_bytes_ = 0;
    if (one_sided(entry)) direct_backoff_ = kDirectBackoff;
    return std::nullopt;
  }
  direct_bytes_ += *moved;
  if (direct_bytes_ < entry.wqe.length) return moved;
  direct_bytes_ = direct_backoff_ = 0;
  ++cursor_;
  ++begun_;
  gather_cursor_ = {};
  complete_front(context_.host, queue_, Status::success);
  check_drained();
  return moved;
}

SOFTRNIC_HOT_PATH bool RcRequester::go_at_once() {
  if (queue_.size() != 1 || !nothing_in_flight() || stopping() || direct_backoff_ > 0) return false;
  const SendEntry& entry = queue_.front();
  if (!one_sided(entry) || (is_read_or_atomic(entry) && context_.attributes.max_reads_out == 0)) return false;
  refused_at_once_ = !go_direct(entry);
  return !refused_at_once_ && queue_.empty();
}

}  // namespace softrnic::ib
