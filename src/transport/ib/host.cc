#include "transport/ib/host.h"

#include "base/reason_id.h"

namespace softrnic::ib {

Expected<void, Reason> Host::remote_region(MemoryKey rkey, std::uint32_t access) {
  static_cast<void>(access);
  return Unexpected{because(ReasonId::nak_rkey_unknown, rkey.value)};
}

Expected<void, Reason> Host::select_srq(std::uint32_t number) {
  return Unexpected{because(ReasonId::nak_xrc_srq, number)};
}

Expected<void, Reason> Host::execute_locally(const SendWqe& wqe) {
  return Unexpected{because(ReasonId::no_such_window, wqe.rkey.value)};
}

}  // namespace softrnic::ib
