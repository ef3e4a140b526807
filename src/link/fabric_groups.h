// The multicast groups that a lane has joined at its fabric, and those of which the fabric does not know that
// yet, as the socket took no more.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "link/fabric_message.h"
#include "wire/gid.h"

namespace softrnic::link {

class FabricGroups {
 public:
  /// `fd` stays the caller's.
  explicit FabricGroups(int fd) : fd_(fd) {}

  /// Tells the fabric, at once or in a later flush(). False, with errno: there are kMostFabricGroups, or the
  /// fabric has ended.
  bool join(const wire::Gid& group, std::uint8_t port);
  /// The same. False: it has not been joined.
  bool leave(const wire::Gid& group, std::uint8_t port);
  /// Tells what the fabric does not know yet, as far as the socket takes it.
  void flush() {
    if (has_untold()) tell();
  }
  /// May be called without the lock.
  bool has_untold() const { return has_untold_.load(std::memory_order_relaxed); }

 private:
  struct Membership {
    wire::Gid group;
    std::uint8_t port = 0;
    bool joined = false;
    bool known = false;  ///< to the fabric as a membership
    bool is_told() const { return joined == known; }
  };

  std::vector<Membership>::iterator find(const wire::Gid& group, std::uint8_t port);
  void tell();
  /// False: the socket takes no more for the present.
  bool tell(Membership& membership) const;

  int fd_;
  std::vector<Membership> memberships_;  ///< these and those that the fabric still thinks there are
  std::atomic<bool> has_untold_{false};
};

}  // namespace softrnic::link
