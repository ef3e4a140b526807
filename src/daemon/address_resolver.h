// From the address of a peer to the path towards it: the route, our own address on it, the netdev, and
// whether the next hop answers on the link. Asynchronous, as the link may take seconds.
//
// Not thread-safe. Callbacks come from advance() alone, never from start() or cancel(), and may call both.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "base/expected.h"
#include "base/reason.h"
#include "base/time.h"
#include "net/net_snapshot.h"
#include "net/route_netlink.h"
#include "wire/gid.h"

namespace softrnic::daemon {

struct ResolveRequest {
  wire::Gid destination;
  wire::Gid source{};  ///< zero: the kernel chooses
  /// Netdev to leave by; needed for link-local destinations; 0: the route's
  std::uint32_t interface_index = 0;
  TimePoint deadline = kNever;
};

struct ResolvedAddress {
  wire::Gid source;
  wire::Gid next_hop;                 ///< the gateway, or the destination itself
  std::uint32_t interface_index = 0;  ///< of the path; to an address of this host: the netdev that has it
  std::uint8_t hop_limit = 64;        ///< what the kernel would send with
  bool is_local = false;              ///< the destination is this host
};

/// Errors: ENETUNREACH (no route) and others of the routing table, EHOSTUNREACH (nobody answers on the
/// link), ETIMEDOUT (nobody has answered before the deadline), EADDRNOTAVAIL (the source is not ours),
/// EINVAL (link-local without a link). Failures are not explained yet (base/reason.h): that is for
/// whoever answers with them.
using ResolveResult = Expected<ResolvedAddress, Failure>;

/// Names a request that is under way; never used again.
enum class ResolveToken : std::uint64_t { none = 0 };

class AddressResolver {
 public:
  using Callback = std::function<void(const ResolveResult&)>;

  /// False, with errno set, when the kernel refused a socket.
  bool valid() const { return kernel_.valid(); }
  /// The addresses of this host.
  void set_addresses(std::vector<net::Address> addresses) { addresses_ = std::move(addresses); }

  /// Calls `done` once, unless it is cancelled before.
  ResolveToken start(const ResolveRequest& request, Callback done);
  /// The callback will not be called. Tokens of finished requests do nothing.
  void cancel(ResolveToken token);

  /// Readable when take_changes() has something to read.
  int changes_fd() const { return kernel_.changes_fd(); }
  /// Learns which neighbours have changed; advance() tells.
  void take_changes();
  /// When advance() has something to tell.
  TimePoint deadline() const;
  /// Tells what is resolved, has failed or is due at `now`.
  void advance(TimePoint now);

  std::size_t pending() const { return pending_.size(); }

 private:
  using Hop = net::RouteNetlink::Hop;
  struct Pending {
    TimePoint due;
    Hop hop;                 ///< whose answer is awaited
    ResolvedAddress answer;  ///< when it comes
    std::optional<Failure> failure;
    bool finished = false;
    Callback done;
  };

  /// Settles everything but the neighbour. True: that one is awaited.
  bool begin(const ResolveRequest& request, Pending& pending);
  bool fail(Pending& pending, const Failure& failure) const;
  Expected<net::RouteNetlink::Route, Failure> find_route(const ResolveRequest& request);
  bool is_own(const wire::Gid& address, std::uint32_t interface_index);
  std::uint32_t holder_of(const wire::Gid& address, std::uint32_t otherwise) const;
  bool await(Pending& pending);
  void look_again(const Hop& hop);
  void finish(ResolveToken token, Pending& pending);

  net::RouteNetlink kernel_;
  std::vector<net::Address> addresses_;
  std::map<ResolveToken, Pending> pending_;
  std::set<std::pair<TimePoint, ResolveToken>> due_;
  std::set<std::pair<Hop, ResolveToken>> waiting_;
  std::uint64_t last_token_ = 0;
};

}  // namespace softrnic::daemon
