// Questions to the kernel's routing and neighbour tables over netlink. Needs no privilege.
#pragma once

#include <linux/neighbour.h>
#include <linux/rtnetlink.h>

#include <array>
#include <cstdint>
#include <optional>

#include "base/time.h"
#include "base/unique_fd.h"
#include "wire/gid.h"

namespace softrnic::net {

class RouteNetlink {
 public:
  struct Route {
    std::uint32_t interface_index = 0;
    bool is_local = false;  ///< the destination is an address of this host
    wire::Gid next_hop;     ///< the gateway, or the destination itself
  };
  struct Entry {
    std::array<std::uint8_t, 6> mac{};
    bool usable = false;
    bool failed = false;  ///< the address was asked for and nobody answered
  };

  /// Also listens for changes of neighbours from here on.
  RouteNetlink();
  /// False, with errno set, when the kernel refused a socket.
  bool valid() const { return questions_ && changes_; }

  std::optional<Route> route(const wire::Gid& destination, std::uint32_t interface_index);
  std::optional<Entry> neighbour(const wire::Gid& address, std::uint32_t interface_index);
  /// Waits until some neighbour changed; false after `timeout`.
  bool wait_for_change(Duration timeout);

 private:
  template <typename Message>
  struct Question;
  /// The answer to a question, in buffer_; nullptr when the kernel refuses.
  const nlmsghdr* ask(nlmsghdr& question, std::uint16_t answer_type);

  UniqueFd questions_;
  UniqueFd changes_;
  std::uint32_t sequence_ = 0;
  alignas(nlmsghdr) std::array<char, 8192> buffer_;
};

}  // namespace softrnic::net
