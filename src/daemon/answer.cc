#include "daemon/answer.h"

#include <algorithm>

#include "control/client.h"

namespace softrnic::daemon {

Answer refused(std::uint32_t serial, const Failure& failure) {
  auto reply = control::make_message<control::ErrorReply>(serial);
  reply.error = failure.error;
  reply.reason = static_cast<std::uint32_t>(failure.reason.id);
  std::copy(failure.reason.figures.begin(), failure.reason.figures.end(), reply.figures);
  control::put_text(reply.text, control::make_error(failure).text);
  return answer_with(reply);
}

}  // namespace softrnic::daemon
