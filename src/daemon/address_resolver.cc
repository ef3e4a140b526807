#include "daemon/address_resolver.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/reason_id.h"
#include "net/neighbour.h"

namespace softrnic::daemon {
namespace {

Failure refuse_address(int error, ReasonId id, const wire::Gid& gid, int detail = 0) {
  return refuse(error, id, gid.high_half(), gid.low_half(), detail);
}

Failure refuse_hop(int error, ReasonId id, const net::RouteNetlink::Hop& hop) {
  return refuse(error, id, hop.interface_index, hop.address.high_half(), hop.address.low_half());
}

/// What the routing table may say of a destination; anything else means that the question made no sense to
/// it.
int route_error(int error) {
  const bool plain = error == ENETUNREACH || error == EHOSTUNREACH || error == EACCES;
  return plain ? error : ENETUNREACH;
}

}  // namespace

// ---- requests

ResolveToken AddressResolver::start(const ResolveRequest& request, Callback done) {
  const auto token = static_cast<ResolveToken>(++last_token_);
  Pending pending;
  pending.due = request.deadline;
  pending.done = std::move(done);
  if (begin(request, pending)) {
    waiting_.emplace(pending.hop, token);
  } else {
    pending.finished = true;
    pending.due = TimePoint::min();
  }
  due_.emplace(pending.due, token);
  pending_.emplace(token, std::move(pending));
  return token;
}

void AddressResolver::cancel(ResolveToken token) {
  const auto it = pending_.find(token);
  if (it == pending_.end()) return;
  due_.erase({it->second.due, token});
  waiting_.erase({it->second.hop, token});
  pending_.erase(it);
}

bool AddressResolver::fail(Pending& pending, const Failure& failure) const {
  pending.failure = failure;
  return false;
}

bool AddressResolver::begin(const ResolveRequest& request, Pending& pending) {
  const wire::Gid& destination = request.destination;
  if (destination.is_link_local() && request.interface_index == 0)
    return fail(pending, refuse_address(EINVAL, ReasonId::scope_missing, destination));
  if (!request.source.is_zero() && !is_own(request.source, request.interface_index))
    return fail(pending, refuse_address(EADDRNOTAVAIL, ReasonId::source_not_here, request.source));
  const auto route = find_route(request);
  if (!route) return fail(pending, route.error());
  ResolvedAddress& answer = pending.answer;
  answer.source = route->source;
  answer.next_hop = route->next_hop;
  answer.interface_index = route->interface_index;
  answer.hop_limit = route->hop_limit;
  answer.is_local = route->is_local;
  if (route->is_local) {
    // the route leads to the loopback
    answer.interface_index = holder_of(destination, route->interface_index);
    if (answer.source.is_zero()) answer.source = destination;
    return false;
  }
  if (destination.is_multicast()) return false;
  pending.hop = {route->next_hop, route->interface_index};
  return await(pending);
}

Expected<net::RouteNetlink::Route, Failure> AddressResolver::find_route(const ResolveRequest& request) {
  const auto route = kernel_.route({.destination = request.destination,
                                    .source = request.source,
                                    .interface_index = request.interface_index});
  if (route && !route->is_broadcast) return *route;
  const int error = route ? EACCES : route.error();
  return Unexpected{refuse_address(route_error(error), ReasonId::no_route, request.destination, error)};
}

bool AddressResolver::is_own(const wire::Gid& address, std::uint32_t interface_index) {
  net::RouteNetlink::Query query{.destination = address};
  if (address.is_link_local()) query.interface_index = interface_index;
  const auto route = kernel_.route(query);
  return route && route->is_local;
}

std::uint32_t AddressResolver::holder_of(const wire::Gid& address, std::uint32_t otherwise) const {
  const auto held = std::find_if(addresses_.begin(), addresses_.end(),
                                 [&](const net::Address& own) { return own.gid == address; });
  return held != addresses_.end() ? held->interface_index : otherwise;
}

// ---- neighbours

bool AddressResolver::await(Pending& pending) {
  const auto known = [&] {
    const auto entry = kernel_.neighbour(pending.hop.address, pending.hop.interface_index);
    return entry && entry->usable;
  };
  if (known()) return false;
  net::solicit(pending.hop.address, pending.hop.interface_index);
  return !known();  // links without neighbours, as tunnels, know at once
}

void AddressResolver::take_changes() {
  const auto changes = kernel_.take_changes();
  std::set<Hop> awaited;
  for (const auto& [hop, token] : waiting_)
    if (changes.lost) awaited.insert(hop);
  for (const Hop& hop : changes.hops) {
    const auto first = waiting_.lower_bound({hop, ResolveToken::none});
    if (first != waiting_.end() && first->first == hop) awaited.insert(hop);
  }
  for (const Hop& hop : awaited) look_again(hop);
}

// An announcement may be older than our question, so the kernel is asked for the present state.
void AddressResolver::look_again(const Hop& hop) {
  const auto entry = kernel_.neighbour(hop.address, hop.interface_index);
  if (!entry || (!entry->usable && !entry->failed)) return;
  for (auto it = waiting_.lower_bound({hop, ResolveToken::none}); it != waiting_.end() && it->first == hop;) {
    const ResolveToken token = it->second;
    it = waiting_.erase(it);
    Pending& pending = pending_.at(token);
    if (!entry->usable) pending.failure = refuse_hop(EHOSTUNREACH, ReasonId::no_neighbour, hop);
    finish(token, pending);
  }
}

void AddressResolver::finish(ResolveToken token, Pending& pending) {
  due_.erase({pending.due, token});
  pending.finished = true;
  pending.due = TimePoint::min();
  due_.emplace(pending.due, token);
}

// ---- time

TimePoint AddressResolver::deadline() const { return due_.empty() ? kNever : due_.begin()->first; }

void AddressResolver::advance(TimePoint now) {
  // What callbacks start waits for the next turn, so that this one ends.
  std::vector<ResolveToken> tokens;
  for (auto it = due_.begin(); it != due_.end() && it->first <= now; ++it) tokens.push_back(it->second);
  for (const ResolveToken token : tokens) {
    const auto it = pending_.find(token);
    if (it == pending_.end()) continue;  // cancelled by a callback
    Pending pending = std::move(it->second);
    due_.erase({pending.due, token});
    waiting_.erase({pending.hop, token});
    pending_.erase(it);
    if (!pending.finished) pending.failure = refuse_hop(ETIMEDOUT, ReasonId::resolve_timeout, pending.hop);
    if (pending.failure) {
      pending.done(Unexpected{*pending.failure});
    } else {
      pending.done(pending.answer);
    }
  }
}

}  // namespace softrnic::daemon
