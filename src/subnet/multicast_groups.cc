#include "subnet/multicast_groups.h"

#include <algorithm>
#include <utility>

#include "subnet/multicast_tree.h"
#include "subnet/options.h"
#include "wire/mgid.h"

namespace softrnic::subnet {
namespace {

constexpr std::uint8_t kFull = mad::join_state::kFullMember | mad::join_state::kSendOnlyFullMember;
constexpr std::uint8_t kReceives = mad::join_state::kFullMember | mad::join_state::kNonMember;
constexpr unsigned kMgidAttempts = 1000;

mad::McMemberRecord record_of(const MulticastGroup& group) {
  mad::McMemberRecord record;
  record.mgid = group.mgid;
  record.p_key = group.pkey;
  record.q_key = group.flags.qkey;
  record.mtu_selector = mad::Selector::exactly;
  record.mtu = static_cast<mad::Mtu>(group.flags.mtu);
  record.rate_selector = mad::Selector::exactly;
  record.rate = static_cast<mad::Rate>(group.flags.rate);
  record.packet_life_time_selector = mad::Selector::exactly;
  record.packet_life_time = PortOptions{}.subnet_timeout;
  record.sl = group.flags.sl;
  record.traffic_class = group.flags.traffic_class;
  record.flow_label = group.flags.flow_label;
  record.scope = std::to_integer<std::uint8_t>(group.mgid.raw[1]) & 15;
  return record;
}

}  // namespace

bool McGroup::has_full_member() const {
  return std::ranges::any_of(members,
                             [](const auto& member) { return (member.second.join_state & kFull) != 0; });
}

const McGroup* MulticastGroups::find(const wire::Gid& mgid) const {
  const auto found = groups_.find(mgid);
  return found == groups_.end() ? nullptr : &found->second;
}

std::optional<Lid> MulticastGroups::free_lid(Lid wanted) const {
  if (wanted.is_multicast() && wanted <= last_lid_ && !lids_.contains(wanted)) return wanted;
  // The lowest gap: `lids_` is in order.
  std::uint32_t lid = Lid::kFirstMulticast;
  for (const Lid used : lids_) {
    if (used.value != lid) break;
    ++lid;
  }
  if (lid > last_lid_.value) return std::nullopt;
  return Lid(static_cast<std::uint16_t>(lid));
}

bool MulticastGroups::make_mgid(mad::McMemberRecord& record, std::uint64_t subnet_prefix) {
  wire::Gid& mgid = record.mgid;
  mgid.raw[0] = std::byte{0xff};
  mgid.raw[1] = static_cast<std::byte>(0x10 | (record.scope & 15));
  store_be16(&mgid.raw[2], wire::kAdministratorSignature);
  store_be64(&mgid.raw[4], subnet_prefix);
  for (unsigned attempt = 0; attempt < kMgidAttempts; ++attempt) {
    store_be32(&mgid.raw[12], next_mgid_++);
    if (!groups_.contains(mgid)) return true;
  }
  return false;
}

const McGroup* MulticastGroups::create(mad::McMemberRecord record, std::uint64_t subnet_prefix,
                                       bool is_permanent) {
  const auto lid = free_lid(record.mlid);
  if (!lid || groups_.size() >= kMostGroups) return nullptr;
  if (record.mgid.is_zero() && !make_mgid(record, subnet_prefix)) return nullptr;
  record.mlid = *lid;
  record.port_gid = {};
  record.join_state = 0;
  record.proxy_join = false;
  const auto [made, is_new] = groups_.emplace(record.mgid, McGroup{record, {}, is_permanent});
  if (!is_new) return nullptr;
  lids_.insert(*lid);
  lives_.created.push_back(record);
  return &made->second;
}

void MulticastGroups::create_well_known(std::span<const Partition> partitions, std::uint64_t subnet_prefix) {
  for (const Partition& partition : partitions)
    for (const MulticastGroup& group : groups_of(partition))
      if (find(group.mgid) == nullptr) (void)create(record_of(group), subnet_prefix, true);
}

bool MulticastGroups::join(const wire::Gid& mgid, Guid port, GroupMember member) {
  const auto group = groups_.find(mgid);
  if (group == groups_.end()) return false;
  auto& members = group->second.members;
  const auto found = members.find(port);
  if (found == members.end()) {
    if (members_ >= kMostMembers) return false;
    members.emplace(port, member);
    ++members_;
  } else if ((found->second.join_state | member.join_state) == found->second.join_state) {
    return true;
  } else {
    found->second.join_state |= member.join_state;
  }
  changed_.insert(group->second.record.mlid);
  return true;
}

void MulticastGroups::leave(const wire::Gid& mgid, Guid port, std::uint8_t join_state) {
  const auto group = groups_.find(mgid);
  if (group == groups_.end()) return;
  const auto member = group->second.members.find(port);
  if (member == group->second.members.end()) return;
  member->second.join_state &= static_cast<std::uint8_t>(~join_state);
  changed_.insert(group->second.record.mlid);
  if (member->second.join_state != 0) {
    drop_if_unused(group);
  } else {
    remove_member(group, member);
  }
}

/// Returns the group that follows, if with the member the group goes too.
MulticastGroups::ByMgid::iterator MulticastGroups::remove_member(
    ByMgid::iterator group, std::map<Guid, GroupMember>::iterator member) {
  group->second.members.erase(member);
  --members_;
  changed_.insert(group->second.record.mlid);
  return drop_if_unused(group);
}

/// Without full members a group is no more, whoever else is in it (IBTA 15.2.5.17).
MulticastGroups::ByMgid::iterator MulticastGroups::drop_if_unused(ByMgid::iterator group) {
  if (group->second.is_permanent || group->second.has_full_member()) return group;
  members_ -= group->second.members.size();
  changed_.insert(group->second.record.mlid);
  lids_.erase(group->second.record.mlid);
  lives_.deleted.push_back(group->second.record);
  return groups_.erase(group);
}

void MulticastGroups::keep_only(const Graph& graph) {
  for (auto group = groups_.begin(); group != groups_.end();) {
    auto& members = group->second.members;
    const std::size_t before = members.size();
    std::erase_if(members, [&](const auto& m) { return graph.find_end_port(m.first) == kNoEndPort; });
    members_ -= before - members.size();
    const bool lost = members.size() != before;
    if (lost) changed_.insert(group->second.record.mlid);
    const auto next = lost ? drop_if_unused(group) : group;
    group = next == group ? std::next(group) : next;
  }
}

void MulticastGroups::store_trees(SubnetDatabase& database, const std::set<Lid>* only) const {
  const Graph& graph = database.graph();
  ForwardingTables& tables = database.routing.tables;
  if (only != nullptr)
    for (const Lid lid : *only) MulticastTree().store(lid, tables);
  for (const auto& [mgid, group] : groups_) {
    if (only != nullptr && !only->contains(group.record.mlid)) continue;
    std::vector<EndPortId> receivers;
    std::vector<EndPortId> senders;
    for (const auto& [guid, member] : group.members) {
      const EndPortId id = graph.find_end_port(guid);
      if (id == kNoEndPort) continue;
      ((member.join_state & kReceives) != 0 ? receivers : senders).push_back(id);
    }
    MulticastTree tree = MulticastTree::build(graph, database.min_hops, receivers);
    for (const EndPortId sender : senders) tree.join(graph, sender, MulticastRole::send_only);
    tree.store(group.record.mlid, tables);
  }
}

}  // namespace softrnic::subnet
