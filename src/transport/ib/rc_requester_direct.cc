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

bool RcRequester::waits_for_direct(const SendEntry& entry) const {
  return sequence_.awaits_answers() && direct_.waits(entry.wqe) && context_.host.may_go_direct();
}

// The bytes that went.
std::optional<std::uint32_t> RcRequester::go_direct(const SendEntry& entry) {
  const DirectMessage message{entry.wqe, queue().sges(entry), queue().inline_data(entry),
                              direct_.moved_bytes(), sequence_.next().wire()};
  const auto moved = context_.host.direct(message);
  if (!moved) {
    if (direct_.under_way()) {  // although the queue may be draining by now
      begin(queue().front(), extent_of(entry.wqe, context_));
    }
    direct_.refused(entry.wqe);
    return std::nullopt;
  }
  if (!direct_.moved(entry.wqe, *moved)) return moved;
  sequence_.passed_by();
  complete_front(context_.host, queue(), Status::success);
  check_drained();
  return moved;
}

SOFTRNIC_HOT_PATH bool RcRequester::go_at_once() {
  if (queue().size() != 1 || !sequence_.at_rest() || stopping() || direct_.backs_off()) return false;
  const SendEntry& entry = queue().front();
  if (!DirectTurns::one_sided(entry.wqe.op)) return false;
  if (is_answered(entry.wqe.op) && context_.attributes.max_reads_out == 0) return false;
  const bool went = go_direct(entry).has_value();
  direct_.asked_at_once(went);
  return went && queue().empty();
}

}  // namespace softrnic::ib
