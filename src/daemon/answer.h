// The answer to a client's message, and the usual ways to make one.
#pragma once

#include <cstddef>
#include <vector>

#include "base/expected.h"
#include "base/reason.h"
#include "base/unique_fd.h"
#include "control/messages.h"

namespace softrnic::daemon {

struct Answer {
  std::vector<std::byte> bytes;
  int fd = -1;        ///< to pass along; stays its owner's
  UniqueFd own_fd;    ///< to pass along and close
  bool drop = false;  ///< close the connection after the answer
};

template <typename Reply>
Answer answer_with(const Reply& reply, int fd = -1) {
  const Bytes bytes = control::bytes_of(reply);
  Answer answer;
  answer.bytes.assign(bytes.begin(), bytes.end());
  answer.fd = fd;
  return answer;
}

/// An ErrorReply with the sentence of this daemon.
Answer refused(std::uint32_t serial, const Failure& failure);

template <typename Request>
Answer refused(const Request& request, const Failure& failure) {
  return refused(request.header.serial, failure);
}

template <typename Request>
Answer done(const Request& request) {
  return answer_with(control::make_message<control::Done>(request.header.serial));
}

/// Done, or the failure.
template <typename Request>
Answer done_or_refused(const Request& request, const Expected<void, Failure>& result) {
  return result ? done(request) : refused(request, result.error());
}

}  // namespace softrnic::daemon
