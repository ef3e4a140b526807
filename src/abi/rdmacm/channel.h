// An event channel: a count of events that programs poll, and its number at the daemon.
#pragma once

#include <rdma/rdma_cma.h>

#include <cstdint>
#include <memory>

#include "abi/rdmacm/session.h"
#include "base/expected.h"
#include "base/reason.h"
#include "rnic/semaphore_fd.h"

namespace softrnic::rdmacm {

class Channel : public rdma_event_channel {
 public:
  static Expected<std::unique_ptr<Channel>, Failure> open(std::shared_ptr<Session> session);
  ~Channel();
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  static Channel* of(rdma_event_channel* channel) { return static_cast<Channel*>(channel); }

  Session& session() { return *session_; }
  std::uint32_t number() const { return number_; }
  const std::shared_ptr<Session>& shared_session() const { return session_; }

  /// Waits for the next event, unless the program has set O_NONBLOCK. EAGAIN, or EINTR.
  Expected<control::CmEventReply, Failure> next();

 private:
  explicit Channel(std::shared_ptr<Session> session) : session_(std::move(session)) {}

  const std::shared_ptr<Session> session_;
  rnic::SemaphoreFd events_;
  std::uint32_t number_ = 0;
  bool open_ = false;
};

}  // namespace softrnic::rdmacm
