#include "samehost/introduction.h"

#include <sys/prctl.h>

#include <cerrno>
#include <utility>

#include "base/reason.h"
#include "samehost/foreign_descriptor.h"

namespace softrnic::samehost {
namespace {

Introduction refused(const Reason& reason) {
  explain({.reason = reason});
  Introduction none;
  none.without = control::PathChoice::refused;
  return none;
}

Introduction take_from(const control::NeighbourReply& neighbour, std::uint8_t lane) {
  const auto out_of_reach = [&](int error) {
    return refused(because(ReasonId::neighbour_out_of_reach, lane, neighbour.pid, error));
  };
  auto memory = take_descriptor(neighbour.pid, neighbour.memory);
  if (!memory) return out_of_reach(memory.error());
  auto inbox = take_descriptor(neighbour.pid, neighbour.inbox);
  if (!inbox) return out_of_reach(inbox.error());
  auto bell = take_descriptor(neighbour.pid, neighbour.bell);
  if (!bell) return out_of_reach(bell.error());
  Introduction taken;
  taken.memory = std::move(memory->fd);
  taken.inbox = std::move(inbox->fd);
  taken.bell = std::move(bell->fd);
  taken.pid = neighbour.pid;
  taken.attached = memory->attached;
  if (!taken.attached) taken.without = control::PathChoice::refused;
  return taken;
}

}  // namespace

// To whom nobody may attach looks at nobody either: both sides of a shared memory can do to each other what
// they like.
std::optional<Introduction> introduce(control::Client& daemon, std::uint8_t lane) {
  const auto neighbour = daemon.find_neighbour(lane);
  if (!neighbour) {
    const Failure& failure = neighbour.error().failure;
    if (failure.error == ETIMEDOUT) return std::nullopt;
    return failure.reason.id == ReasonId::neighbour_apart ? refused(failure.reason) : Introduction();
  }
  if (neighbour->pid == 0) return Introduction();
  if (prctl(PR_GET_DUMPABLE) != 1) return refused(because(ReasonId::not_dumpable));
  return take_from(*neighbour, lane);
}

}  // namespace softrnic::samehost
