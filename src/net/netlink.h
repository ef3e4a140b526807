// rtnetlink: the state of the host's network, and word when it changes.
#pragma once

#include "base/expected.h"
#include "base/unique_fd.h"
#include "net/net_snapshot.h"

namespace softrnic::net {

class Netlink {
 public:
  /// A positive errno when the kernel refuses.
  static Expected<Netlink, int> open();

  /// Readable after links or addresses have changed.
  int changes_fd() const { return changes_.get(); }
  /// Forgets the changes that were announced so far. Call it before snapshot(), so that none is lost between.
  void consume_changes();
  /// The present state. `with_routes`: default routes too, which takes time on routers.
  Expected<NetSnapshot, int> snapshot(bool with_routes);

 private:
  UniqueFd changes_;
  UniqueFd queries_;
  std::uint32_t sequence_ = 0;
};

}  // namespace softrnic::net
