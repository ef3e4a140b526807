#include "daemon/takeover.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

#include "base/lane_limits.h"
#include "base/reason_id.h"
#include "control/handover.h"
#include "control/local_name.h"
#include "daemon/lane_socket.h"
#include "daemon/port_holder.h"
#include "daemon/reuseport_order.h"

namespace softrnic::daemon {
namespace {

using control::HandedLane;

constexpr std::chrono::seconds kSurvivorPatience{2};  ///< with a survivor, which may be stopped

std::uint64_t inode_of(int fd) {
  struct stat status {};
  return fstat(fd, &status) == 0 ? status.st_ino : 0;
}

/// A duplicate of the connection for each lane: its end is that of the survivor's hold on it.
UniqueFd duplicate(const UniqueFd& fd) { return UniqueFd(fcntl(fd.get(), F_DUPFD_CLOEXEC, 0)); }

/// Connections to all processes that have lanes, which answer at the same time: on a busy machine each takes
/// long to get a processor, and meanwhile packets go astray.
std::vector<UniqueFd> reach_survivors() {
  std::vector<UniqueFd> out;
  for (std::uint32_t lane = 1; lane < kMostLanes; ++lane)
    if (auto survivor = control::reach_own(control::lane_name(lane), kSurvivorPatience))
      out.push_back(std::move(*survivor));
  return out;
}

/// Adds the lanes of that process, if it answers.
void take_lanes(const UniqueFd& survivor, std::vector<KeptLane>& out) {
  HandedLane note;
  do {
    control::Datagram datagram;
    const int error =
        control::receive_datagram(survivor.get(), std::as_writable_bytes(std::span(&note, 1)), datagram);
    if (error != 0 || datagram.size != sizeof note || note.magic != HandedLane::kMagic) return;
    if (note.lane == 0 || note.lane >= kMostLanes || !datagram.fds[0]) return;
    out.push_back({note.lane, kNoPlace, std::move(datagram.fds[0]), duplicate(survivor)});
  } while (note.left != 0 && out.size() < kMostLanes);
}

/// Whether the lanes' sockets, and no others, are on the port: the kernel's list and the survivors' agree.
bool are_the_group(const std::vector<KeptLane>& lanes) {
  std::vector<std::uint64_t> ours, all;
  for (const KeptLane& lane : lanes) ours.push_back(inode_of(lane.socket.get()));
  for (const PortHolder& holder : holders_of_port()) all.push_back(holder.inode);
  std::sort(ours.begin(), ours.end());
  std::sort(all.begin(), all.end());
  const bool distinct = std::adjacent_find(lanes.begin(), lanes.end(), [](const auto& a, const auto& b) {
                          return a.lane == b.lane;
                        }) == lanes.end();
  return distinct && ours == all;
}

}  // namespace

Expected<std::vector<KeptLane>, Failure> take_over_survivors() {
  std::vector<KeptLane> lanes;
  for (const UniqueFd& survivor : reach_survivors()) take_lanes(survivor, lanes);
  std::sort(lanes.begin(), lanes.end(), [](const auto& a, const auto& b) { return a.lane < b.lane; });
  if (lanes.empty() || !are_the_group(lanes)) return Unexpected{Failure{EADDRINUSE, who_holds_the_port()}};
  auto own = open_lane_socket(true);
  if (!own) return Unexpected{refuse(own.error(), ReasonId::daemon_unreachable, own.error())};
  std::vector<int> sockets;
  for (const KeptLane& lane : lanes) sockets.push_back(lane.socket.get());
  const auto places = places_in_group(sockets, own->fd.get());
  if (!places) return Unexpected{Failure{places.error(), who_holds_the_port()}};
  for (std::size_t i = 0; i < lanes.size(); ++i) lanes[i].place = (*places)[i];
  lanes.insert(lanes.begin(),
               KeptLane{0, static_cast<std::uint32_t>(sockets.size()), std::move(own->fd), {}});
  return lanes;
}

}  // namespace softrnic::daemon
