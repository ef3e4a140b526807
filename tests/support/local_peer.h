// A lane of another process, and what the daemon would answer who asks for it.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <memory>
#include <optional>

#include "base/unique_fd.h"
#include "samehost/atomic_locks.h"
#include "samehost/direct_share.h"
#include "samehost/doorbell.h"
#include "samehost/eager_receiver.h"
#include "tests/support/peer_handles.h"
#include "wire/gid.h"

namespace softrnic::samehost::test {

inline constexpr std::uint8_t kOwn = 3, kTheirs = 9;  ///< lanes

inline wire::Gid own_gid() { return wire::Gid::from_ipv4_be(0x0100007f); }

struct LocalPeer {
  LocalPeer() : share(DirectShare::make(1)), slot(*share->add_lane(kTheirs)) { slot.life->lock(); }
  ~LocalPeer() { slot.life->unlock(); }
  std::unique_ptr<DirectShare> share;
  DirectShare::LaneSlot slot;
  UniqueFd doorbell = make_doorbell();
};

/// Of a lane that gets none.
struct NoEagers final : EagerReceiver {
  bool eager(const RingEagerSend&, std::uint8_t) override { return false; }
};

/// The daemon, as the test wants it.
struct LocalPeerAnswers {
  std::optional<PeerHandles> answer() {
    ++asked;
    if (!answers) return std::nullopt;
    if (!shares) return PeerHandles{};
    PeerHandles shown = handles_of(*local_peer.share);
    shown.doorbell.reset(dup(local_peer.doorbell.get()));
    shown.pid = pid;
    return shown;
  }

  UniqueFd locks = DirectLocks::make();
  LocalPeer local_peer;
  bool shares = true;
  bool answers = true;
  pid_t pid = getpid();  ///< of the local peer
  unsigned asked = 0;    ///< how often
};

}  // namespace softrnic::samehost::test
