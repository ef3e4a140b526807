#include "mad/pending_requests.h"

#include <algorithm>

#include "mad/class_rules.h"

namespace softrnic::mad {
namespace {

Duration timeout_of(const Request& request) { return std::chrono::milliseconds(request.timeout_ms); }

bool same_destination(const Peer& a, const Peer& b) {
  if (a.has_grh != b.has_grh) return false;
  return a.has_grh ? a.gid == b.gid : a.lid == b.lid;
}

bool came_back_the_same_way(const Peer& to, const Peer& from, std::uint8_t lmc) {
  if (to.has_grh != from.has_grh) return false;
  if (to.has_grh) return to.gid_index == from.gid_index;
  const unsigned mask = (1U << lmc) - 1;
  return ((to.path_bits ^ from.path_bits) & mask) == 0;
}

}  // namespace

bool PendingRequests::has_twin_of(const Request& request) const {
  const auto [first, last] = entries_.equal_range({request.agent, request.header.transaction});
  return std::any_of(first, last, [&](const auto& entry) {
    const Request& other = entry.second.request;
    if (other.header.management_class != request.header.management_class) return false;
    if (is_response(other.header) != is_response(request.header)) return false;
    return !is_response(request.header) || same_destination(other.to, request.to);
  });
}

void PendingRequests::add(Request request, TimePoint now) {
  const TimePoint due = now + timeout_of(request);
  const Key key{request.agent, request.header.transaction};
  ++counts_[request.agent];
  const auto entry = entries_.emplace(key, Entry{std::move(request), due});
  by_time_.emplace(due, entry);
}

void PendingRequests::erase(Entries::iterator entry) {
  by_time_.erase({entry->second.due, entry});
  const auto count = counts_.find(entry->first.first);
  if (--count->second == 0) counts_.erase(count);
  entries_.erase(entry);
}

template <typename Map>
auto PendingRequests::find(Map& entries, AgentId agent, const Header& response, const Peer& from,
                           std::uint8_t lmc) {
  const auto [first, last] = entries.equal_range({agent, response.transaction});
  const bool directed = response.management_class == ManagementClass::subnet_directed_route;
  const auto found = std::find_if(first, last, [&](const auto& entry) {
    const Request& request = entry.second.request;
    return !is_response(request.header) && request.header.management_class == response.management_class &&
           (directed || came_back_the_same_way(request.to, from, lmc));
  });
  return found == last ? entries.end() : found;
}

bool PendingRequests::awaits(AgentId agent, const Header& response, const Peer& from,
                             std::uint8_t lmc) const {
  return find(entries_, agent, response, from, lmc) != entries_.end();
}

std::optional<Request> PendingRequests::take_answered(AgentId agent, const Header& response, const Peer& from,
                                                      std::uint8_t lmc) {
  const auto found = find(entries_, agent, response, from, lmc);
  if (found == entries_.end()) return std::nullopt;
  Request answered = std::move(found->second.request);
  erase(found);
  return answered;
}

std::optional<PendingRequests::Due> PendingRequests::next_due(TimePoint now) {
  if (deadline() > now) return std::nullopt;
  const Entries::iterator entry = by_time_.begin()->second;
  Request& request = entry->second.request;
  if (request.retries_left == 0) {
    Due expired{std::move(request), true};
    erase(entry);
    return expired;
  }
  --request.retries_left;
  by_time_.erase(by_time_.begin());
  entry->second.due = now + timeout_of(request);
  by_time_.emplace(entry->second.due, entry);
  return Due{request, false};
}

void PendingRequests::remove(AgentId agent) {
  auto entry = entries_.lower_bound({agent, 0});
  while (entry != entries_.end() && entry->first.first == agent) erase(entry++);
}

std::size_t PendingRequests::count(AgentId agent) const {
  const auto found = counts_.find(agent);
  return found == counts_.end() ? 0 : found->second;
}

}  // namespace softrnic::mad
