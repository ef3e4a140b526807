#include "subnet/smp_requests.h"

#include <algorithm>
#include <utility>

namespace softrnic::subnet {
namespace {

mad::Smp datagram_of(std::uint32_t transaction, const SmpRequest& request) {
  mad::Smp smp;
  smp.management_class = mad::ManagementClass::subnet_directed_route;
  smp.method = request.method;
  smp.hop_count = request.path.hops();
  // The upper half is ib_umad's, which puts the number of its agent there.
  smp.transaction = transaction;
  smp.attribute = request.attribute;
  smp.modifier = request.modifier;
  smp.m_key = request.m_key;
  smp.dr_slid = wire::kPermissiveLid;
  smp.dr_dlid = wire::kPermissiveLid;
  smp.data = request.data;
  smp.initial_path = request.path.initial_path();
  return smp;
}

bool same_path(const mad::Smp& smp, const DirectedPath& path) {
  if (smp.hop_count != path.hops()) return false;
  const auto& ports = path.initial_path();
  return std::equal(ports.begin() + 1, ports.begin() + 1 + path.hops(), smp.initial_path.begin() + 1);
}

bool answers(const mad::Smp& smp, const SmpRequest& request) {
  return smp.method == mad::Method::get_response && smp.is_directed() && smp.returning &&
         smp.attribute == request.attribute && smp.modifier == request.modifier &&
         same_path(smp, request.path);
}

bool is_busy(std::uint16_t status) { return mad::common_status(status) == mad::Status::busy; }

}  // namespace

void SmpRequests::send(const SmpRequest& request, SmpHandler handler) {
  waiting_.push_back({request, std::move(handler), kNever, options_.retries});
}

bool SmpRequests::receive(const mad::Smp& smp) {
  const auto found = on_wire_.find(static_cast<std::uint32_t>(smp.transaction));
  if (found == on_wire_.end() || !answers(smp, found->second.request)) {
    ++counters_.stray;
    return false;
  }
  // Whoever is busy is asked again when its time is up (IBTA 13.4.7).
  if (is_busy(smp.status)) return true;
  const SmpHandler handler = std::move(found->second.handler);
  on_wire_.erase(found);
  handler({smp.status == 0 ? SmpOutcome::answered : SmpOutcome::refused, smp.status, smp.data});
  return true;
}

void SmpRequests::advance(TimePoint now) {
  give_up(now);
  fill_wire(now);
}

// A request to the manager's own node is answered while it is sent, and its handler may drop all: each one is
// looked up when its turn comes.
void SmpRequests::give_up(TimePoint now) {
  std::vector<SmpHandler> failed;
  for (const std::uint32_t transaction : due(now)) {
    const auto at = on_wire_.find(transaction);
    if (at == on_wire_.end()) continue;
    Outstanding& outstanding = at->second;
    if (outstanding.retries_left > 0) {
      --outstanding.retries_left;
      outstanding.deadline = now + options_.timeout;
      ++counters_.retries;
      transmit(transaction, outstanding.request);
      continue;
    }
    if (outstanding.request.target != kNoTarget) silent_.insert(outstanding.request.target.value);
    ++counters_.given_up;
    failed.push_back(std::move(outstanding.handler));
    on_wire_.erase(at);
  }
  for (const SmpHandler& handler : failed) handler({});
}

std::vector<std::uint32_t> SmpRequests::due(TimePoint now) const {
  std::vector<std::uint32_t> transactions;
  for (const auto& [transaction, outstanding] : on_wire_)
    if (outstanding.deadline <= now) transactions.push_back(transaction);
  return transactions;
}

void SmpRequests::fill_wire(TimePoint now) {
  while (!waiting_.empty() && on_wire_.size() < options_.most_on_wire) {
    Outstanding next = std::move(waiting_.front());
    waiting_.pop_front();
    if (silent_.contains(next.request.target.value)) {
      next.handler({});
      continue;
    }
    while (next_transaction_ == 0 || on_wire_.contains(next_transaction_)) ++next_transaction_;
    const std::uint32_t transaction = next_transaction_++;
    next.deadline = now + options_.timeout;
    ++counters_.requests;
    if (next.request.method == mad::Method::set) ++counters_.sets;
    const SmpRequest request = next.request;
    on_wire_.emplace(transaction, std::move(next));
    transmit(transaction, request);
  }
}

void SmpRequests::transmit(std::uint32_t transaction, const SmpRequest& request) {
  port_.send({}, mad::encoded(datagram_of(transaction, request)));
}

TimePoint SmpRequests::deadline() const {
  TimePoint earliest = kNever;
  for (const auto& [transaction, outstanding] : on_wire_) earliest = std::min(earliest, outstanding.deadline);
  return earliest;
}

void SmpRequests::clear() {
  waiting_.clear();
  on_wire_.clear();
  silent_.clear();
}

}  // namespace softrnic::subnet
