#include "samehost/peer_handles.h"

#include <sys/prctl.h>

#include <cerrno>
#include <utility>

#include "base/reason_id.h"
#include "samehost/foreign_descriptor.h"

namespace softrnic::samehost {
namespace {

PeerHandles refused(const Reason& reason) {
  explain({.reason = reason});
  PeerHandles none;
  none.without = control::PathChoice::refused;
  return none;
}

PeerHandles take_from(const control::LocalPeerReply& local_peer, std::uint8_t lane) {
  const auto out_of_reach = [&](int error) {
    return refused(because(ReasonId::local_peer_unreachable, lane, local_peer.pid, error));
  };
  auto memory = take_descriptor(local_peer.pid, local_peer.memory);
  if (!memory) return out_of_reach(memory.error());
  auto inbox = take_descriptor(local_peer.pid, local_peer.inbox);
  if (!inbox) return out_of_reach(inbox.error());
  auto doorbell = take_descriptor(local_peer.pid, local_peer.doorbell);
  if (!doorbell) return out_of_reach(doorbell.error());
  PeerHandles taken;
  taken.memory = std::move(memory->fd);
  taken.inbox = std::move(inbox->fd);
  taken.doorbell = std::move(doorbell->fd);
  taken.pid = local_peer.pid;
  taken.attached = memory->attached;
  if (!taken.attached) taken.without = control::PathChoice::refused;
  return taken;
}

}  // namespace

// To whom nobody may attach looks at nobody either: both sides of a shared memory can do to each other what
// they like.
std::optional<PeerHandles> resolve_peer(control::Client& daemon, std::uint8_t lane) {
  const auto local_peer = daemon.find_local_peer(lane);
  if (!local_peer) {
    const Failure& failure = local_peer.error().failure;
    if (failure.error == ETIMEDOUT) return std::nullopt;
    return failure.reason.id == ReasonId::local_peer_apart ? refused(failure.reason) : PeerHandles();
  }
  if (local_peer->pid == 0) return PeerHandles();
  if (prctl(PR_GET_DUMPABLE) != 1) return refused(because(ReasonId::not_dumpable));
  return take_from(*local_peer, lane);
}

}  // namespace softrnic::samehost
