#include "subnet/sa_subscriptions.h"

#include <algorithm>

namespace softrnic::subnet {
namespace {

using mad::InformInfo;
using mad::Notice;
using mad::SaStatus;

constexpr std::uint16_t kAllLids = 0xffff;

bool is_security_trap(std::uint16_t number) {
  return number >= static_cast<std::uint16_t>(mad::Trap::bad_m_key) &&
         number <= static_cast<std::uint16_t>(mad::Trap::bad_p_key_at_switch);
}

/// Whether two subscriptions are one: all but where reports go and how fast they are answered.
bool is_same(const InformInfo& a, const InformInfo& b) {
  return a.gid == b.gid && a.lid_range_begin == b.lid_range_begin && a.lid_range_end == b.lid_range_end &&
         a.is_generic == b.is_generic && a.type == b.type && a.trap_number == b.trap_number &&
         a.producer_type == b.producer_type;
}

/// IBTA 13.4.8.3: what InformInfo says, and what the notice is.
bool wants(const InformInfo& info, const Notice& notice) {
  if (!info.gid.is_zero()) {
    if (info.gid != notice.issuer_gid) return false;
  } else if (info.lid_range_begin.value != kAllLids) {
    const Lid last = std::max(info.lid_range_begin, info.lid_range_end);
    if (notice.issuer_lid < info.lid_range_begin || notice.issuer_lid > last) return false;
  }
  return (info.is_generic != 0) == notice.is_generic &&
         (info.type == InformInfo::kAllTypes || info.type == static_cast<std::uint16_t>(notice.type)) &&
         (info.trap_number == InformInfo::kAllTraps || info.trap_number == notice.trap_number) &&
         (info.producer_type == InformInfo::kAllProducers || info.producer_type == notice.producer_type);
}

/// The port that a notice is about: traps 64 and 65 come from the manager, but tell of another.
EndPortId subject_of(const Graph& graph, const Notice& notice) {
  const auto trap = static_cast<mad::Trap>(notice.trap_number);
  const bool tells_of_other =
      notice.is_generic && (trap == mad::Trap::gid_in_service || trap == mad::Trap::gid_out_of_service);
  const wire::Gid gid = tells_of_other ? notice.details_as<mad::GidDetails>().gid : notice.issuer_gid;
  return graph.find_end_port(Guid(gid.low_half()));
}

/// o13-17.1.1: by a partition that both are in, or the group is. A port that is gone has none any more.
bool may_hear(const SaView& view, Guid subscriber, const Notice& notice, std::uint16_t p_key) {
  const Graph& graph = view.database.graph();
  const EndPortId to = graph.find_end_port(subscriber);
  if (to == kNoEndPort) return false;
  const PkeyTable& own = view.database.p_keys_of(to);
  if (p_key != 0) return has_p_key(own, p_key);
  const EndPortId subject = subject_of(graph, notice);
  if (subject == kNoEndPort) return true;
  return subject == to || common_p_key(own, view.database.p_keys_of(subject)) != 0;
}

/// Ports that a subscription names can be heard of (o13-14.1.1).
bool may_subscribe(const SaView& view, const SaRequest& request, const InformInfo& info) {
  const SubnetDatabase& database = view.database;
  if (!info.gid.is_zero()) {
    const EndPortId id = database.graph().find_end_port(Guid(info.gid.low_half()));
    return id != kNoEndPort && view.may_see(request.requester, database.topology.port_of(id));
  }
  if (info.lid_range_begin.value == kAllLids) return true;
  const Lid last = std::min(std::max(info.lid_range_begin, info.lid_range_end), database.graph().top_lid());
  if (info.lid_range_begin > database.graph().top_lid()) return false;
  for (std::uint32_t lid = info.lid_range_begin.value; lid <= last.value; ++lid) {
    const NodePort port = database.port_of(Lid(static_cast<std::uint16_t>(lid)));
    if (port.node != kNoNode && !view.may_see(request.requester, port)) return false;
  }
  return true;
}

}  // namespace

std::vector<Subscriptions::Subscription>::iterator Subscriptions::find(const DatagramAddress& from,
                                                                       const InformInfo& info) {
  return std::ranges::find_if(subscriptions_, [&](const Subscription& subscription) {
    return subscription.address.lid == from.lid && subscription.address.qpn == from.qpn &&
           is_same(subscription.info, info);
  });
}

std::uint16_t Subscriptions::free_enumeration(Guid port) const {
  std::uint16_t number = 0;
  for (const Subscription& subscription : subscriptions_)
    if (subscription.port == port) number = std::max<std::uint16_t>(number, subscription.enumeration + 1);
  return number;
}

SaStatus Subscriptions::set(const SaView& view, const SaRequest& request, SaRecords& out) {
  const auto asked = request.record<InformInfo>();
  const EndPortId requester = view.end_port(request.requester);
  if (asked.subscribe > 1 || requester == kNoEndPort) return SaStatus::invalid_request;
  const bool secret = asked.is_generic != 0 && is_security_trap(asked.trap_number);
  if (secret && !request.is_trusted) return SaStatus::invalid_request;

  // Reports go to the queue pair that subscribed; one that unsubscribes tells which that was (IBTA 13.4.8.3).
  DatagramAddress address = request.from;
  if (asked.subscribe == 0 && asked.qpn.value != 0) address.qpn = asked.qpn;
  const auto found = find(address, asked);
  if (asked.subscribe == 0) {
    if (found == subscriptions_.end()) return SaStatus::invalid_request;
    subscriptions_.erase(found);
  } else if (!may_subscribe(view, request, asked)) {
    return SaStatus::invalid_request;
  } else if (found != subscriptions_.end()) {
    found->address = address;
  } else {
    if (subscriptions_.size() >= kMost) return SaStatus::no_resources;
    const Guid port = view.database.graph().at(requester).guid;
    Subscription made{port, free_enumeration(port), address, asked};
    made.info.qpn = request.from.qpn;
    subscriptions_.push_back(made);
  }
  out.add(asked);
  return SaStatus::ok;
}

void Subscriptions::query(const SaView& view, const SaRequest& request, SaRecords& out) const {
  SaQuery<mad::InformInfoRecord> query(request, out);
  const Graph& graph = view.database.graph();
  for (const Subscription& subscription : subscriptions_) {
    const EndPortId id = graph.find_end_port(subscription.port);
    if (id == kNoEndPort || !view.may_see(request.requester, view.database.topology.port_of(id))) continue;
    mad::InformInfoRecord record;
    record.subscriber_gid = mad::gid_of(view.options.ports.subnet_prefix, subscription.port);
    record.enumeration = subscription.enumeration;
    record.inform_info = subscription.info;
    // Where reports go is for trusted requests alone (C15-0.2-1.16).
    if (!request.is_trusted) record.inform_info.qpn = {};
    query.add(record);
  }
}

void Subscriptions::report(const SaView& view, const Notice& notice, std::uint16_t p_key, TimePoint now) {
  for (const Subscription& subscription : subscriptions_)
    if (wants(subscription.info, notice) && may_hear(view, subscription.port, notice, p_key))
      send(subscription, notice, now);
}

void Subscriptions::send(const Subscription& to, const Notice& notice, TimePoint now) {
  if (reports_.size() >= kMostReports) return;
  while (next_transaction_ == 0 || reports_.contains(next_transaction_)) ++next_transaction_;
  const std::uint32_t transaction = next_transaction_++;
  Report report{to.address, {}, now + kTimeout};
  mad::Header header;
  header.management_class = mad::ManagementClass::subnet_administration;
  header.class_version = mad::kSaClassVersion;
  header.method = mad::Method::report;
  header.transaction = transaction;
  header.attribute = Notice::kAttribute;
  mad::encode_header(header, report.mad);
  mad::encode(notice, std::span(report.mad).subspan(mad::kSaDataOffset));
  port_.send(report.to, report.mad);
  next_retry_ = std::min(next_retry_, report.deadline);
  reports_.emplace(transaction, report);
}

void Subscriptions::confirm(const DatagramAddress& from, std::uint64_t transaction) {
  const auto found = reports_.find(static_cast<std::uint32_t>(transaction));
  if (found != reports_.end() && found->second.to.lid == from.lid) reports_.erase(found);
}

void Subscriptions::advance(TimePoint now) {
  if (now < next_retry_) return;
  next_retry_ = kNever;
  for (auto at = reports_.begin(); at != reports_.end();) {
    Report& report = at->second;
    if (now >= report.deadline && report.retries_left == 0) {
      at = reports_.erase(at);
      continue;
    }
    if (now >= report.deadline) {
      --report.retries_left;
      report.deadline = now + kTimeout;
      port_.send(report.to, report.mad);
    }
    next_retry_ = std::min(next_retry_, report.deadline);
    ++at;
  }
}

void Subscriptions::keep_only(const Graph& graph) {
  std::erase_if(subscriptions_,
                [&](const Subscription& s) { return graph.find_end_port(s.port) == kNoEndPort; });
}

void Subscriptions::clear() {
  subscriptions_.clear();
  reports_.clear();
  next_retry_ = kNever;
}

}  // namespace softrnic::subnet
