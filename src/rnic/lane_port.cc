#include "rnic/lane_port.h"

#include <cerrno>

#include "base/reason_id.h"

namespace softrnic::rnic {

Expected<StreamPort*, Failure> LanePort::add_stream(QueuePair& qp, UniqueFd& socket,
                                                    const StreamStart& start) {
  static_cast<void>(qp);
  static_cast<void>(socket);
  static_cast<void>(start);
  return Unexpected{refuse(EOPNOTSUPP, ReasonId::iwarp_bad_stream, EOPNOTSUPP)};
}

}  // namespace softrnic::rnic
