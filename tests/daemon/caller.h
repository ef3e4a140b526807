// A program's part in a connection: a channel, and one id on it.
#pragma once

#include <poll.h>
#include <rdma/rdma_cma.h>

#include <memory>
#include <string>

#include "control/cm_client.h"
#include "tests/daemon/daemon_fixture.h"

namespace softrnic::tests {

inline constexpr std::uint16_t kPort = 7174;  ///< of the servers

class Caller {
 public:
  /// `device`: the only one that the id may use; empty: all.
  explicit Caller(std::unique_ptr<control::Client> client, const std::string& device = {})
      : daemon_(std::move(client)) {
    channel_ = daemon_.open_channel(events_).value();
    id_ = daemon_.create_id(channel_, RDMA_PS_TCP, IBV_QPT_RC, 1, device).value().id;
  }
  control::CmClient& daemon() { return daemon_; }
  control::CmNumber id() const { return id_; }
  std::uint32_t channel() const { return channel_; }

  /// The next event within ten seconds; -1: none came. `socket`: of the stream that comes with it. A count
  /// without an event is that of one which was withdrawn.
  int next(control::CmEventReply* out = nullptr, UniqueFd* socket = nullptr) {
    pollfd ready{events_.fd(), POLLIN, 0};
    while (poll(&ready, 1, 10'000) == 1 && events_.wait() == 0) {
      const auto event = daemon_.next_event(channel_, socket);
      if (!event) return -1;
      if (event->present == 0) continue;
      if (out != nullptr) *out = *event;
      return static_cast<int>(event->event);
    }
    return -1;
  }

  /// 0, or the number of the step that failed.
  int find_route(const sockaddr_storage& to) {
    const sockaddr_storage none{};
    if (!daemon_.resolve_address(id_, none, to, 2000)) return 1;
    if (next() != RDMA_CM_EVENT_ADDR_RESOLVED) return 2;
    if (!daemon_.resolve_route(id_, 2000)) return 3;
    return next() == RDMA_CM_EVENT_ROUTE_RESOLVED ? 0 : 4;
  }

 private:
  rnic::EventCount events_;
  control::CmClient daemon_;
  std::uint32_t channel_ = 0;
  control::CmNumber id_ = 0;
};

/// What a program gives with rdma_connect and rdma_accept.
inline control::CmConnectionParameters parameters(std::uint32_t qpn) {
  control::CmConnectionParameters given;
  given.valid = 1;
  given.qpn = qpn;
  given.responder_resources = given.initiator_depth = 4;
  return given;
}

}  // namespace softrnic::tests
