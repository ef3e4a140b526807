#include "rnic/flow.h"

#include <cerrno>
#include <mutex>

#include "base/reason_id.h"
#include "rnic/flow_counters.h"
#include "rnic/queue_pair.h"
#include "rnic/refusal.h"

namespace softrnic::rnic {

Expected<std::unique_ptr<Flow>, Failure> Flow::create(QueuePair& qp, const ethernet::FlowRule& rule,
                                                      FlowCounters* counters) {
  if (qp.type() != IBV_QPT_RAW_PACKET)
    return refused(refuse(EINVAL, ReasonId::flow_qp_type, qp.type()), {.qpn = qp.qpn().value});
  std::unique_ptr<Flow> flow(new Flow(qp, rule, counters));
  const std::lock_guard lock(qp.lane().mutex());
  if (auto added = qp.lane().add_flow(*flow); !added) return refused(added.error(), {.qpn = qp.qpn().value});
  qp.flows.add();
  if (counters != nullptr) counters->uses.add();
  return flow;
}

void Flow::destroy() {
  const std::lock_guard lock(target_.lane().mutex());
  target_.lane().remove_flow(*this);
  target_.flows.release();
  if (counters_ != nullptr) counters_->uses.release();
}

void Flow::met(std::size_t bytes) {
  if (counters_ != nullptr) counters_->count(bytes);
}

}  // namespace softrnic::rnic
