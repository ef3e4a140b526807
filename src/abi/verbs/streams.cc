#include "abi/verbs/streams.h"

#include <mutex>

#include "abi/calls.h"
#include "abi/verbs/open_device.h"
#include "base/unique_fd.h"

namespace softrnic::abi {
namespace {

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
                        .waits_for_peer = grant.waits_for_peer != 0},
          .initiator = grant.initiator != 0};
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

}  // namespace

int start_stream(ibv_qp* qp, int fd, const control::StreamGrant* grant) {
  return errno_call([&]() -> Expected<void, Failure> {
    if (qp == nullptr || grant == nullptr) return null_argument();
    Lent lent(fd);
    const auto done = Qp::of(qp)->impl->start_stream(lent.get(), start_of(*grant));
    if (done) take_state(*qp);
    return done;
  });
}

int close_stream(ibv_qp* qp) {
  return errno_call([&]() -> Expected<void, Failure> {
    if (qp == nullptr) return null_argument();
    const auto done = Qp::of(qp)->impl->close_stream();
    if (done) take_state(*qp);
    return done;
  });
}

}  // namespace softrnic::abi
