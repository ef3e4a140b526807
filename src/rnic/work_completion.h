// What every work completion says, of whatever queue.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>

#include "base/reason.h"
#include "transport/ib/types.h"

namespace softrnic::rnic {

/// `number`: of the queue pair or work queue. vendor_err names the reason, for programs that print it.
inline ibv_wc work_completion(std::uint64_t wr_id, ib::Status status, const Reason& reason,
                              std::uint32_t number) {
  ibv_wc wc{};
  wc.wr_id = wr_id;
  wc.status = static_cast<ibv_wc_status>(status);
  wc.vendor_err = status == ib::Status::success ? 0 : static_cast<std::uint32_t>(reason.id);
  wc.qp_num = number;
  return wc;
}

}  // namespace softrnic::rnic
