#include "base/attempt.h"

#include "base/reason_id.h"

namespace softrnic {

void explain_no_memory() { explain({.reason = because(ReasonId::out_of_memory, 0)}); }

}  // namespace softrnic
