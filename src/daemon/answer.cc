#include "daemon/answer.h"

#include "control/error.h"

namespace softrnic::daemon {

Answer refused(std::uint32_t serial, const Failure& failure) {
  auto reply = control::make_message<control::ErrorReply>(serial);
  control::put_failure(reply, failure);
  return answer_with(reply);
}

}  // namespace softrnic::daemon
