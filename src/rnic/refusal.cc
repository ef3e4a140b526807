#include "rnic/refusal.h"

namespace softrnic::rnic {

Unexpected<Failure> refused(const Failure& failure, const Subject& subject) {
  Explanation explanation;
  explanation.qpn = subject.qpn;
  explanation.peer_qpn = subject.peer_qpn;
  explanation.wr_id = subject.wr_id;
  explanation.has_wr_id = subject.has_wr_id;
  explanation.reason = failure.reason;
  explain(explanation);
  return Unexpected{failure};
}

}  // namespace softrnic::rnic
