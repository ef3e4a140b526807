// A flow: a rule by which frames go to a queue pair of raw packets (ibv_create_flow(3)).
#pragma once

#include <memory>

#include "base/expected.h"
#include "base/reason.h"
#include "ethernet/flow_table.h"

namespace softrnic::rnic {

class FlowCounters;
class QueuePair;

class Flow final : public ethernet::FlowRule {
 public:
  /// EINVAL: the queue pair is not of raw packets; and what LanePort::add_flow() refuses. `counters`, which
  /// may be none, and `qp` are in use until destroy().
  static Expected<std::unique_ptr<Flow>, Failure> create(QueuePair& qp, const ethernet::FlowRule& rule,
                                                         FlowCounters* counters);
  /// Delete it afterwards.
  void destroy();

  QueuePair& target() const { return target_; }
  /// A frame of `bytes` has met the rule. With the lock of the lane.
  void met(std::size_t bytes);

 private:
  Flow(QueuePair& qp, const ethernet::FlowRule& rule, FlowCounters* counters)
      : FlowRule(rule), target_(qp), counters_(counters) {}

  QueuePair& target_;
  FlowCounters* const counters_;
};

}  // namespace softrnic::rnic
