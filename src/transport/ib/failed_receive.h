// A receive that ends without a message.
#pragma once

#include <cstdint>

#include "base/reason_id.h"
#include "transport/ib/types.h"

namespace softrnic::ib {

inline RecvDone failed_receive(std::uint64_t wr_id, Status status, const Reason& reason) {
  RecvDone done;
  done.wr_id = wr_id;
  done.status = status;
  done.reason = reason;
  return done;
}

/// IBTA 10.3.1.7.
inline RecvDone flushed_receive(std::uint64_t wr_id) {
  return failed_receive(wr_id, Status::flushed, because(ReasonId::flushed));
}

}  // namespace softrnic::ib
