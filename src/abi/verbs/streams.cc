#include "abi/verbs/streams.h"

#include <cerrno>
#include <mutex>
#include <optional>

#include "abi/calls.h"
#include "abi/verbs/live_objects.h"
#include "abi/verbs/open_device.h"
#include "base/reason_id.h"
#include "base/unique_fd.h"
#include "rnic/refusal.h"

namespace softrnic::abi {
namespace {

std::optional<iwarp::SameHostPeer> same_host_of(const control::StreamGrant& grant) {
  if (grant.same_host_qpn == 0) return std::nullopt;
  return iwarp::SameHostPeer{Qpn(grant.own_qpn), Qpn(grant.same_host_qpn), grant.send_psn, grant.receive_psn};
}

iwarp::WaitForPeer wait_of(const control::StreamGrant& grant) {
  if (grant.waits_for_peer != 0) return iwarp::WaitForPeer::always;
  return grant.hesitates != 0 ? iwarp::WaitForPeer::bounded : iwarp::WaitForPeer::none;
}

rnic::StreamStart start_of(const control::StreamGrant& grant) {
  return {.token = grant.token,
          .agreement = {.revision = grant.revision,
                        .crc = grant.crc != 0,
                        .markers_in = grant.markers_in != 0,
                        .markers_out = grant.markers_out != 0,
                        .long_fpdus = grant.long_fpdus != 0,
                        .extensions = grant.extensions != 0,
                        .ird = grant.ird,
                        .ord = grant.ord,
                        .rtr = grant.rtr,
                        .sends_rtr = grant.sends_rtr != 0,
                        .waits_for_peer = wait_of(grant)},
          .initiator = grant.initiator != 0,
          .same_host = same_host_of(grant)};
}

/// The state that resulted: the peer may have been faster.
void take_state(ibv_qp& qp) {
  rnic::QueuePair& impl = *Qp::of(&qp)->impl;
  const std::lock_guard lock(impl.lane().mutex());
  qp.state = impl.state();
}

/// A descriptor that stays the caller's unless it is taken.
class Lent {
 public:
  explicit Lent(int fd) : fd_(fd) {}
  ~Lent() { static_cast<void>(fd_.release()); }
  Lent(const Lent&) = delete;
  Lent& operator=(const Lent&) = delete;
  UniqueFd& get() { return fd_; }

 private:
  UniqueFd fd_;
};

/// nullptr: it has another connection by now, or has gone.
ibv_qp* find_qp_with(const ibv_context* context, std::uint32_t qpn, std::uint64_t token) {
  ibv_qp* const qp = LiveObjects::find_qp(context, qpn);
  return qp != nullptr && token != 0 && Qp::of(qp)->stream_token == token ? qp : nullptr;
}

}  // namespace

int start_stream(ibv_qp* qp, int fd, const control::StreamGrant* grant) {
  return errno_call([&]() -> Expected<void, Failure> {
    if (qp == nullptr || grant == nullptr) return null_argument();
    Lent lent(fd);
    const auto done = Qp::of(qp)->impl->start_stream(lent.get(), start_of(*grant));
    if (!done) return done;
    take_state(*qp);
    Qp::of(qp)->stream_token = grant->token;
    return done;
  });
}

int may_start_stream(ibv_qp* qp) {
  return errno_call([&]() -> Expected<void, Failure> {
    if (qp == nullptr) return null_argument();
    const rnic::QueuePair& impl = *Qp::of(qp)->impl;
    if (impl.is_iwarp() && impl.state() <= IBV_QPS_RTR) return {};
    return rnic::refused(EINVAL, ReasonId::iwarp_stream_state, impl.state());
  });
}

void close_stream(const ibv_context* context, std::uint32_t qpn, std::uint64_t token) {
  ibv_qp* const qp = find_qp_with(context, qpn, token);
  if (qp == nullptr) return;
  static_cast<void>(errno_call([&]() -> Expected<void, Failure> {
    const auto done = Qp::of(qp)->impl->close_stream();
    if (done) take_state(*qp);
    return done;
  }));
}

void abort_stream(const ibv_context* context, std::uint32_t qpn, std::uint64_t token) {
  ibv_qp* const qp = find_qp_with(context, qpn, token);
  if (qp == nullptr) return;
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_ERR;
  static_cast<void>(ibv_modify_qp(qp, &attributes, IBV_QP_STATE));
}

}  // namespace softrnic::abi
