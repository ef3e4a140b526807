#include "subnet/sa_services.h"

#include <algorithm>
#include <chrono>

namespace softrnic::subnet {
namespace {

using mad::SaStatus;
using mad::ServiceRecord;

constexpr std::uint64_t kIdentity =
    mad::component<ServiceRecord>("service_id") | mad::component<ServiceRecord>("service_gid");
constexpr std::uint64_t kServicePKey = mad::component<ServiceRecord>("service_p_key");

/// The key is for trusted requests alone (IBTA 15.2.5.14).
void add(const SaRequest& request, ServiceRecord record, SaRecords& out) {
  if (!request.is_trusted) record.service_key = {};
  out.add(record);
}

}  // namespace

/// Whoever registers a service of a partition is in it, and so is the port that has the service.
bool Services::may_register(const SaView& view, const SaRequest& request) const {
  if (!request.has(kServicePKey)) return true;
  const auto record = request.record<ServiceRecord>();
  const SubnetDatabase& database = view.database;
  const EndPortId requester = view.end_port(request.requester);
  if (requester == kNoEndPort || !has_p_key(database.p_keys_of(requester), record.service_p_key))
    return false;
  if (record.service_gid.is_multicast()) return true;
  const EndPortId port = database.graph().find_end_port(Guid(record.service_gid.low_half()));
  return port != kNoEndPort && has_p_key(database.p_keys_of(port), record.service_p_key);
}

SaStatus Services::set(const SaView& view, const SaRequest& request, TimePoint now, SaRecords& out) {
  if (!may_register(view, request)) return SaStatus::invalid_request;
  if (!request.has(kIdentity)) return SaStatus::insufficient_components;
  auto record = request.record<ServiceRecord>();
  if (!request.has(mad::component<ServiceRecord>("service_lease"))) record.service_lease = kEndlessLease;
  if (!request.has(kServicePKey)) record.service_p_key = wire::kDefaultPkey;
  const Key key = key_of(record);
  if (services_.size() >= kMost && !services_.contains(key)) return SaStatus::no_resources;
  const bool is_endless = record.service_lease == kEndlessLease;
  const TimePoint end = is_endless ? kNever : now + std::chrono::seconds(record.service_lease);
  services_[key] = {record, end};
  next_end_ = std::min(next_end_, end);
  add(request, record, out);
  return SaStatus::ok;
}

SaStatus Services::remove(const SaView& view, const SaRequest& request, SaRecords& out) {
  if (!may_register(view, request)) return SaStatus::invalid_request;
  auto record = request.record<ServiceRecord>();
  if (!request.has(kServicePKey)) record.service_p_key = wire::kDefaultPkey;
  const auto found = services_.find(key_of(record));
  if (found == services_.end()) return SaStatus::no_records;
  add(request, found->second.record, out);
  services_.erase(found);
  return SaStatus::ok;
}

void Services::query(const SaView& view, const SaRequest& request, TimePoint now, SaRecords& out) const {
  const auto wanted = request.record<ServiceRecord>();
  const EndPortId requester = view.end_port(request.requester);
  if (requester == kNoEndPort) return;
  for (const auto& [key, service] : services_) {
    const bool shares = has_p_key(view.database.p_keys_of(requester), key.p_key);
    if (!shares || !mad::matches(request.sa.component_mask, wanted, service.record)) continue;
    ServiceRecord record = service.record;
    if (service.end != kNever) {
      const auto left = std::chrono::duration_cast<std::chrono::seconds>(service.end - now).count();
      record.service_lease = static_cast<std::uint32_t>(std::max<std::int64_t>(left, 0));
    }
    add(request, record, out);
  }
}

void Services::expire(TimePoint now) {
  if (now < next_end_) return;
  std::erase_if(services_, [now](const auto& service) { return service.second.end <= now; });
  next_end_ = kNever;
  for (const auto& [key, service] : services_) next_end_ = std::min(next_end_, service.end);
}

}  // namespace softrnic::subnet
