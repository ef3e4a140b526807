// Multicast groups and their members, with the multicast LIDs that the groups have (IBTA 15.2.5.17). Who may
// create or join one, the subnet administrator decides (sa_multicast.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "mad/sa_multicast_record.h"
#include "subnet/database.h"
#include "subnet/graph.h"
#include "subnet/partitions.h"
#include "wire/gid.h"

namespace softrnic::subnet {

struct GroupMember {
  std::uint8_t join_state = 0;  ///< bits of mad::join_state
  bool proxy_join = false;      ///< not by the port itself
};

struct McGroup {
  mad::McMemberRecord record;           ///< what all members share; PortGID and JoinState are zero
  std::map<Guid, GroupMember> members;  ///< by port GUID
  bool is_permanent = false;            ///< made by the administrator: stays without members

  bool has_full_member() const;
};

class MulticastGroups {
 public:
  /// Groups and members that there may be, whatever is asked.
  static constexpr std::size_t kMostGroups = 1U << 13;
  static constexpr std::size_t kMostMembers = std::size_t{1} << 20;

  using ByMgid = std::map<wire::Gid, McGroup>;
  const ByMgid& all() const { return groups_; }
  /// nullptr: there is none.
  const McGroup* find(const wire::Gid& mgid) const;

  /// Multicast LIDs up to that one may be used: as many as all switches have entries for.
  void set_last_lid(Lid last) { last_lid_ = last; }

  /// Makes a group of the record, with its MLID if that is free, else the lowest free one. An MGID of zero
  /// becomes a new one of this subnet (IBTA 15.2.5.17, MGID). nullptr: no room.
  const McGroup* create(mad::McMemberRecord record, std::uint64_t subnet_prefix, bool is_permanent);
  /// The groups that partitions have from the start.
  void create_well_known(std::span<const Partition> partitions, std::uint64_t subnet_prefix);

  /// Adds ways to be in the group. False: no room.
  bool join(const wire::Gid& mgid, Guid port, GroupMember member);
  /// Takes ways away; without any, the member goes, and with the last full member the group.
  void leave(const wire::Gid& mgid, Guid port, std::uint8_t join_state);
  /// All that are no longer there leave everything.
  void keep_only(const Graph& graph);

  /// Groups whose trees are no longer right; once.
  std::set<Lid> take_changed() { return std::exchange(changed_, {}); }
  bool has_changed() const { return !changed_.empty(); }
  /// Groups that came and went since the last call, as the traps 66 and 67 tell.
  struct Lives {
    std::vector<mad::McMemberRecord> created, deleted;
  };
  Lives take_lives() { return std::exchange(lives_, {}); }

  /// Puts the trees of those groups, or of all, into the multicast tables.
  void store_trees(SubnetDatabase& database, const std::set<Lid>* only = nullptr) const;

 private:
  std::optional<Lid> free_lid(Lid wanted) const;
  bool make_mgid(mad::McMemberRecord& record, std::uint64_t subnet_prefix);
  ByMgid::iterator remove_member(ByMgid::iterator group, std::map<Guid, GroupMember>::iterator member);
  ByMgid::iterator drop_if_unused(ByMgid::iterator group);

  ByMgid groups_;
  std::set<Lid> lids_;  // in use
  std::set<Lid> changed_;
  Lives lives_;
  Lid last_lid_{Lid::kLastMulticast};
  std::size_t members_ = 0;
  std::uint32_t next_mgid_ = 0;
};

}  // namespace softrnic::subnet
