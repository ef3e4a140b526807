// Questions to the kernel's routing and neighbour tables over netlink. Needs no privilege.
#pragma once

#include <linux/neighbour.h>
#include <linux/rtnetlink.h>

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/expected.h"
#include "base/time.h"
#include "base/unique_fd.h"
#include "wire/gid.h"

namespace softrnic::net {

class RouteNetlink {
 public:
  struct Query {
    wire::Gid destination;
    wire::Gid source{};                 ///< zero: the kernel chooses
    std::uint32_t interface_index = 0;  ///< to leave by; 0: the routing table decides
  };
  struct Route {
    std::uint32_t interface_index = 0;
    bool is_local = false;        ///< the destination is an address of this host
    bool is_broadcast = false;    ///< IPv4: the destination is a broadcast address
    wire::Gid next_hop;           ///< the gateway, or the destination itself
    wire::Gid source;             ///< what the kernel chose; zero: nothing to choose from
    std::uint8_t hop_limit = 64;  ///< of the route, else the kernel's default
  };
  /// An address on a link.
  struct Hop {
    wire::Gid address;
    std::uint32_t interface_index = 0;
    auto operator<=>(const Hop&) const = default;
  };
  struct Entry {
    std::array<std::uint8_t, 6> mac{};  ///< zeros where the link has no such addresses
    bool usable = false;
    bool failed = false;  ///< the address was asked for and nobody answered
  };

  /// Also listens for changes of neighbours from here on.
  RouteNetlink();
  /// False, with errno set, when the kernel refused a socket.
  bool valid() const { return questions_ && changes_; }

  /// A positive errno: ENETUNREACH, EHOSTUNREACH and others of ip-route(8), EINVAL when the
  /// source is not ours (IPv4).
  Expected<Route, int> route(const Query& query);
  std::optional<Entry> neighbour(const wire::Gid& address, std::uint32_t interface_index);

  /// Readable after neighbours have changed.
  int changes_fd() const { return changes_.get(); }
  struct Changes {
    std::vector<Hop> hops;
    bool lost = false;  ///< there were more than the kernel could keep: any may have changed
  };
  /// What changed since the last call, without waiting.
  Changes take_changes();
  /// Waits until some neighbour changed; false after `timeout`.
  bool wait_for_change(Duration timeout);

 private:
  template <typename Message>
  struct Question;
  /// The answer to a question, in buffer_; nullptr and errno when the kernel refuses.
  const nlmsghdr* ask(nlmsghdr& question, std::uint16_t answer_type);

  UniqueFd questions_;
  UniqueFd changes_;
  std::uint32_t sequence_ = 0;
  alignas(nlmsghdr) std::array<char, 8192> buffer_;
};

}  // namespace softrnic::net
