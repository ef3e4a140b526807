#include "engine/local_peers.h"

#include <linux/sock_diag.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

namespace softrnic::engine {
namespace {

constexpr std::uint32_t kMostRoom = 128 * 1024;  ///< taken on one look
constexpr std::uint32_t kSenders = 4;            ///< that may look at the same moment and find the same room

struct Fill {
  std::uint32_t used;
  std::uint32_t size;
};

std::optional<Fill> fill_of(int socket) {
  std::array<std::uint32_t, SK_MEMINFO_VARS> memory{};
  socklen_t length = sizeof memory;
  if (getsockopt(socket, SOL_SOCKET, SO_MEMINFO, memory.data(), &length) != 0) return std::nullopt;
  return Fill{memory[SK_MEMINFO_RMEM_ALLOC], memory[SK_MEMINFO_RCVBUF]};
}

}  // namespace

bool SocketGauge::works() const { return fill_of(socket_.get()).has_value(); }

std::uint32_t SocketGauge::room(TimePoint) {
  const auto fill = fill_of(socket_.get());
  if (!fill) return 0;
  if (fill->used == 0) return kMostRoom;  // however small the buffer is, the kernel takes one packet
  // The other half is for those who do not look (RC, other hosts) and for what others that looked are about to send.
  const std::uint32_t ours = fill->size / 2;
  return fill->used >= ours ? 0 : std::min((ours - fill->used) / kSenders, kMostRoom);
}

void LocalPeers::set_addresses(const std::vector<rnic::GidEntry>& addresses) {
  addresses_.clear();
  for (const rnic::GidEntry& entry : addresses) addresses_.push_back(entry.gid);
}

bool LocalPeers::has(const wire::Gid& address) const {
  return std::find(addresses_.begin(), addresses_.end(), address) != addresses_.end();
}

void LocalPeers::watch(std::uint8_t lane, ib::PathWindow& window) {
  const auto [place, fresh] = peers_.try_emplace(lane);
  Peer& peer = place->second;
  if (fresh) strangers_.push_back(lane);
  if (peer.gauge != nullptr) {
    window.observe(*peer.gauge);
  } else if (!peer.met) {
    peer.waiting.push_back(&window);
  }
}

std::vector<std::uint8_t> LocalPeers::take_strangers() { return std::exchange(strangers_, {}); }

void LocalPeers::meet(std::uint8_t lane, UniqueFd socket) {
  Peer& peer = peers_[lane];
  peer.met = true;
  if (socket) {
    auto gauge = std::make_unique<SocketGauge>(std::move(socket));
    if (gauge->works()) peer.gauge = std::move(gauge);
  }
  for (ib::PathWindow* window : std::exchange(peer.waiting, {})) {
    if (peer.gauge != nullptr) window->observe(*peer.gauge);
  }
}

}  // namespace softrnic::engine
