// Which way leads to the other lanes of this host: the daemon is asked for those that a queue pair is to
// talk to, and until it is known what they share, nothing goes to them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "base/batch_clock.h"
#include "base/quick_mutex.h"
#include "base/unique_fd.h"
#include "flow/path_table.h"
#include "samehost/direct_path.h"
#include "samehost/peer_handles.h"
#include "samehost/ring_link.h"

namespace softrnic::samehost {

/// Of one lane. The lane's lock guards it, except where it says otherwise.
class PeerResolution {
 public:
  /// Asks the daemon about a lane. May wait; called by resolve(). Nothing: it could not be found out.
  using ResolvePeer = std::function<std::optional<PeerHandles>(std::uint8_t lane)>;

  /// What a lane has beside it, all of which outlives this object.
  struct Parts {
    QuickMutex& mutex;  ///< the lane's lock
    const BatchClock& clock;
    DirectPath& direct;
    flow::PathTable& paths;
  };

  /// `lane`: its number.
  PeerResolution(std::uint8_t lane, const Parts& parts, ResolvePeer resolve);

  /// False: descriptors ran out.
  bool valid() const { return static_cast<bool>(pending_fd_); }
  /// Local peers that share a ring are connected in `rings`, which outlives this object. Without a call there
  /// is no direct path.
  void use(RingLink& rings) { rings_ = &rings; }

  /// A queue pair is to talk over this path. True: that may have changed due(), or called for resolve().
  bool look_for(flow::Path& path, bool local);
  /// Who has let its ring lie is looked after.
  void look_after_stuck();
  /// When decide() is to be called, or kNever.
  TimePoint due() const { return due_; }
  /// Whom the daemon has not told of in time is reached by UDP until it does.
  void decide();
  /// Makes pending_fd() readable if there is somebody to ask for.
  void call_resolver();
  /// In a forked child: nobody is asked for or connected.
  void abandon();

  // ---- without the lock

  /// Readable when resolve() has somebody to ask for.
  int pending_fd() const { return pending_fd_.get(); }
  /// Asks for those that are pending, and resolves them. By one thread, which may have to wait for the
  /// daemon. False: there were none.
  bool resolve();

 private:
  /// One that was resolved late: the rings are taken when what went to it by UDP has been read.
  struct LatePeer {
    std::uint8_t lane;
    TimePoint due;
    std::unique_ptr<DirectPeer> peer;
    UniqueFd doorbell;
  };

  DirectPath::Lanes take_pending();
  void resolve(std::uint8_t lane);
  void opened(std::uint8_t lane, std::unique_ptr<DirectPeer> peer, UniqueFd doorbell);
  void resolve_itself();
  void settle(std::uint8_t lane, std::unique_ptr<DirectPeer> opened, UniqueFd doorbell);
  void settle(flow::Path& path);
  void wait_for_decision(flow::Path& path, Duration patience);
  void find_next_decision();
  bool goes_unordered_by_udp(std::uint8_t lane);
  void forget(std::uint8_t lane);
  void leave_ring(std::uint8_t lane);
  template <typename Use>
  void for_each_path_to(std::uint8_t lane, Use use);

  const std::uint8_t lane_;
  QuickMutex& mutex_;
  const BatchClock& clock_;
  DirectPath& direct_;
  flow::PathTable& paths_;
  RingLink* rings_ = nullptr;
  ResolvePeer resolve_;
  UniqueFd pending_fd_;
  bool called_ = false;  ///< pending_fd_ says so already
  bool abandoned_ = false;
  std::vector<LatePeer> late_peers_;
  TimePoint due_ = kNever;  ///< of all paths
};

}  // namespace softrnic::samehost
