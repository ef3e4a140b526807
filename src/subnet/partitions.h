// Partitions as an administrator asks for them: who belongs to which with which membership, and the multicast
// groups that are there from the start. partitions_conf.h reads them, pkey_tables.h makes tables of them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "subnet/graph.h"
#include "wire/gid.h"

namespace softrnic::subnet {

/// P_Key: the top bit is full membership, the rest the partition (IBTA 10.9.1).
inline constexpr std::uint16_t kFullMember = 0x8000;
inline constexpr std::uint16_t kPartitionMask = 0x7fff;
/// The partition that all ports are in, the last number there is (IBTA 10.9.1).
inline constexpr std::uint16_t kDefaultPartition = 0x7fff;
/// Q_Key of IPoIB's broadcast group, as OpenSM makes it.
inline constexpr std::uint32_t kIpoibQkey = 0x0b1b;

enum class Membership : std::uint8_t { limited, full, both };

/// Which ports a rule means.
enum class PortChoice : std::uint8_t { guid, all, all_cas, all_switches, all_routers, self };

struct PartitionRule {
  PortChoice choice = PortChoice::all;
  Guid guid;  ///< of the port, with PortChoice::guid
  Membership membership = Membership::limited;

  bool operator==(const PartitionRule&) const = default;
};

/// What a multicast group has, in the codes of MCMemberRecord (IBTA 15.2.5.17).
struct GroupFlags {
  std::uint8_t mtu = 4;   ///< 2048 bytes
  std::uint8_t rate = 3;  ///< 10 Gb/s
  std::uint8_t sl = 0;
  std::uint16_t scopes = 0;  ///< bit by bit: a group for each; none: link-local alone
  std::uint32_t qkey = 0;
  std::uint8_t traffic_class = 0;
  std::uint32_t flow_label = 0;

  bool operator==(const GroupFlags&) const = default;
};

struct PartitionGroup {
  wire::Gid mgid;
  GroupFlags flags;
};

struct Partition {
  std::string name;
  std::uint16_t number = kDefaultPartition;  ///< P_Key without membership
  bool ipoib = false;                        ///< has IPoIB's broadcast group
  bool index0 = false;                       ///< its P_Key is the first of its ports' tables
  GroupFlags flags;                          ///< of the broadcast group; sl also of the partition
  std::vector<PartitionRule> rules;          ///< the last one for a port counts
  std::vector<PartitionGroup> groups;
};

/// Without a configuration: all ports are full members of the default partition, which has IPoIB.
std::vector<Partition> default_partitions();

/// A group as it is made, one scope.
struct MulticastGroup {
  wire::Gid mgid;
  std::uint16_t pkey = 0;
  GroupFlags flags;
};
/// All groups of the partition: the broadcast group of IPoIB (RFC 4391 5) and those that are listed, one for
/// each scope. IP groups carry the P_Key in their address; one whose P_Key is another's is left out.
std::vector<MulticastGroup> groups_of(const Partition& partition);

}  // namespace softrnic::subnet
