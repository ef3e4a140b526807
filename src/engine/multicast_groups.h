// Which UD queue pairs of a lane belong to which multicast group.
#pragma once

#include <cstdint>
#include <vector>

#include "link/link.h"
#include "wire/gid.h"

namespace softrnic::rnic {
class QueuePair;
}

namespace softrnic::engine {

class MulticastGroups {
 public:
  /// The first member of a group on a netdev makes the link join it. False when the link refuses.
  bool join(link::Link& link, rnic::QueuePair& qp, const wire::Gid& group, std::uint32_t interface_index);
  /// The last one makes it leave. False when the queue pair was no member.
  bool leave(link::Link& link, rnic::QueuePair& qp, const wire::Gid& group);
  void leave_all(link::Link& link, rnic::QueuePair& qp);

  /// Calls f(qp) for each member of `group`; returns their number.
  template <typename F>
  std::size_t for_each(const wire::Gid& group, F&& f) const {
    std::size_t count = 0;
    for (const Membership& membership : memberships_) {
      if (membership.group != group) continue;
      f(*membership.qp);
      ++count;
    }
    return count;
  }

 private:
  struct Membership {
    wire::Gid group;
    rnic::QueuePair* qp;
    std::uint32_t interface_index;
  };

  bool anybody(const wire::Gid& group, std::uint32_t interface_index) const;

  std::vector<Membership> memberships_;
};

}  // namespace softrnic::engine
