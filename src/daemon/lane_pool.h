// The lanes: sockets, their places in the SO_REUSEPORT group, which never change while a daemon
// lives, and who holds which.
//
// Who has held a lane may have kept a duplicate of its socket, and would read what comes for the next holder.
// So with several users a lane comes to another one only with another socket. The old one is retired: it
// stays where it stands in its group for as long as the daemon lives, as its end would move another.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "base/expected.h"
#include "base/reason.h"
#include "base/unique_fd.h"
#include "control/handover.h"
#include "daemon/keeper.h"

namespace softrnic::daemon {

/// A lane that was given out.
struct LaneGrant {
  std::uint32_t lane = 0;
  int socket = -1;  ///< stays the pool's
  std::uint32_t first_index = 0;
  bool dual_stack = true;
  bool fabric = false;  ///< the socket is one of FabricMessages
};

/// What the service asks of the lanes; tests and fuzzers have lanes without sockets.
class Lanes {
 public:
  /// A free lane. `pidfd` (or -1) is the process that takes it, of that user.
  virtual Expected<LaneGrant, Failure> take(int pidfd, uid_t user) = 0;
  /// The lane was taken and is so no longer.
  virtual void free(std::uint32_t lane) = 0;
  /// Whether the lane was taken over from an earlier daemon, nobody has reclaimed it, and `socket` is its
  /// socket.
  virtual bool may_reclaim(std::uint32_t /*lane*/, int /*socket*/) const { return false; }
  /// It is held by the process `pidfd` (or -1), of that user, from then on. Only after may_reclaim().
  virtual void reclaim(std::uint32_t /*lane*/, int /*pidfd*/, uid_t /*user*/) {}
  virtual std::uint32_t made() const = 0;               ///< lane 0 included
  virtual std::uint32_t used() const = 0;               ///< by processes
  virtual int socket_of(std::uint32_t lane) const = 0;  ///< of a lane below made(); stays the pool's
  virtual std::uint32_t receive_buffer() const = 0;     ///< bytes of a socket's buffer

 protected:
  Lanes() = default;
  Lanes(Lanes&&) = default;
  Lanes& operator=(Lanes&&) = default;
  ~Lanes() = default;
};

class LanePool final : public Lanes {
 public:
  enum class Users : std::uint8_t { one, all };

  /// Takes the port, with lane 0, or takes over the lanes of a daemon that died: from its keeper, or else
  /// from the programs that have them. Fails with the reason why the port cannot be had.
  static Expected<LanePool, Failure> open(Users users);

  /// The one of this user's that is free for longest, else a new one, else another user's.
  Expected<LaneGrant, Failure> take(int pidfd, uid_t user) override;
  /// Drains the lane and gives it to whoever asks next.
  void free(std::uint32_t lane) override;
  bool may_reclaim(std::uint32_t lane, int socket) const override;
  void reclaim(std::uint32_t lane, int pidfd, uid_t user) override;
  std::uint32_t made() const override { return static_cast<std::uint32_t>(lanes_.size()); }
  std::uint32_t used() const override { return used_; }
  std::uint32_t receive_buffer() const override;

  /// Lanes that were taken over from a dead daemon and whose processes live.
  struct Inherited {
    std::uint32_t lane = 0;
    int holder = -1;  ///< KeptLane::holder; stays the pool's
  };
  const std::vector<Inherited>& inherited() const { return inherited_; }
  /// Forgets an inherited lane whose process has ended.
  void free_inherited(std::uint32_t lane);

  /// Readable when the keeper has gone.
  int keeper_gone_fd() const { return keeper_.gone_fd(); }
  /// Another keeper in its place, which knows all lanes. False: there is none.
  bool renew_keeper();

  int socket_of(std::uint32_t lane) const override { return lanes_[lane].socket.get(); }

  /// Hands each packet to its lane again, should somebody have changed that. 0 or a positive errno.
  int steer() const;
  /// Whether more than one user holds lanes, so that one might.
  bool is_shared() const;

 private:
  static constexpr std::size_t kMostRetired = 4096;

  struct LaneState {
    UniqueFd socket;  ///< none: made when the lane is taken
    std::uint32_t place = kNoPlace;
    UniqueFd holder;
    bool taken = false;
    uid_t user = kNoUser;  ///< who has, or had, the socket
  };
  static constexpr uid_t kNoUser = static_cast<uid_t>(-1);
  LanePool(Keeper keeper, Users users) : keeper_(std::move(keeper)), users_(users) {}
  Expected<std::uint32_t, Failure> choose(uid_t user);
  bool retire(std::uint32_t lane);
  // a positive errno, or 0
  int see_to_own_lane();
  int make_socket(std::uint32_t lane);
  void adopt(KeptLane lane);
  void tell_keeper();

  std::vector<LaneState> lanes_;
  std::deque<std::uint32_t> free_;
  std::vector<KeptLane> retired_;
  std::vector<Inherited> inherited_;
  std::uint32_t used_ = 0;
  std::uint32_t sockets_ = 0;  ///< in the group
  bool dual_stack_ = true;
  Keeper keeper_;
  Users users_;
};

}  // namespace softrnic::daemon
