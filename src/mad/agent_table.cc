#include "mad/agent_table.h"

#include <algorithm>
#include <cerrno>

#include "base/reason_id.h"
#include "mad/class_rules.h"

namespace softrnic::mad {
namespace {

// Limits of the kernel's tables (drivers/infiniband/core/mad_priv.h).
constexpr std::uint8_t kClassCount = 80;
constexpr std::uint8_t kVersions = 0x83;
constexpr std::uint32_t kOuiMask = 0xffffff;

constexpr std::uint32_t kLastAgent = 0xffffff;

bool class_exists(ManagementClass management_class) {
  return static_cast<std::uint8_t>(management_class) < kClassCount ||
         management_class == ManagementClass::subnet_directed_route;
}

bool class_is_valid(const Registration& wanted) {
  const ManagementClass management_class = wanted.management_class;
  if (!class_exists(management_class) || wanted.class_version >= kVersions) return false;
  if ((wanted.oui & ~kOuiMask) != 0 || (is_vendor_range2(management_class) && wanted.oui == 0)) return false;
  if (wanted.rmpp_version != 0 && !rule_of(management_class).has_rmpp) return false;
  return is_subnet_management(management_class) == (wanted.queue == Queue::smi);
}

}  // namespace

AgentId AgentIds::take() {
  do last_ = last_ == kLastAgent ? 1 : last_ + 1;
  while (!used_.insert(AgentId(last_)).second);
  return AgentId(last_);
}

Expected<void, Failure> check_registration(const Registration& wanted) {
  const bool sends_only = wanted.management_class == ManagementClass{};
  const bool rmpp_is_known = wanted.rmpp_version == 0 || wanted.rmpp_version == RmppHeader::kVersion;
  if (rmpp_is_known && (sends_only ? !wanted.does_rmpp_itself : class_is_valid(wanted))) return {};
  return Unexpected{refuse(EINVAL, ReasonId::agent_registration, wanted.management_class,
                           wanted.class_version, wanted.oui, wanted.queue)};
}

std::size_t AgentTable::ouis_of(std::uint8_t version, ManagementClass management_class) const {
  const auto is_of_class = [&](const auto& entry) {
    return std::get<0>(entry.first) == version && std::get<1>(entry.first) == management_class;
  };
  return static_cast<std::size_t>(std::count_if(classes_.begin(), classes_.end(), is_of_class));
}

Expected<void, Failure> AgentTable::add(AgentId agent, const Registration& wanted) {
  if (wanted.management_class == ManagementClass{} || wanted.methods.none()) return {};
  const std::uint32_t oui = is_vendor_range2(wanted.management_class) ? wanted.oui : 0;
  const ClassKey key{wanted.class_version, wanted.management_class, oui};
  auto found = classes_.find(key);
  if (found == classes_.end()) {
    if (oui != 0 && ouis_of(wanted.class_version, wanted.management_class) >= kOuisOfClass)
      return Unexpected{refuse(ENOMEM, ReasonId::agent_limit, kOuisOfClass)};
    found = classes_.emplace(key, Methods{}).first;
  }
  Methods& takers = found->second;
  for (std::size_t method = 0; method < takers.size(); ++method)
    if (wanted.methods[method] && takers[method] != AgentId())
      return Unexpected{refuse(EINVAL, ReasonId::agent_method_taken, method, wanted.management_class,
                               wanted.class_version)};
  for (std::size_t method = 0; method < takers.size(); ++method)
    if (wanted.methods[method]) takers[method] = agent;
  return {};
}

void AgentTable::remove(AgentId agent) {
  for (auto& [key, takers] : classes_) std::replace(takers.begin(), takers.end(), agent, AgentId());
  std::erase_if(classes_, [](const auto& entry) {
    const Methods& takers = entry.second;
    return std::all_of(takers.begin(), takers.end(), [](AgentId taker) { return taker == AgentId(); });
  });
}

std::optional<AgentId> AgentTable::find(const Header& header, Bytes mad) const {
  const std::uint32_t oui = is_vendor_range2(header.management_class) ? oui_of(mad) : 0;
  const auto found = classes_.find({header.class_version, header.management_class, oui});
  if (found == classes_.end()) return std::nullopt;
  const AgentId agent = found->second[static_cast<std::uint8_t>(header.method) % found->second.size()];
  if (agent == AgentId()) return std::nullopt;
  return agent;
}

}  // namespace softrnic::mad
