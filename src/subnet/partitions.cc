#include "subnet/partitions.h"

#include "base/bytes.h"
#include "wire/mgid.h"

namespace softrnic::subnet {
namespace {

// ff12:401b:PPPP::ffff:ffff
wire::Gid broadcast_group(std::uint16_t pkey) {
  wire::Gid gid;
  store_be16(&gid.raw[0], 0xff12);
  store_be16(&gid.raw[2], wire::kIpv4Signature);
  store_be16(&gid.raw[4], pkey);
  store_be32(&gid.raw[12], 0xffffffff);
  return gid;
}

bool is_ip(const wire::Gid& mgid) {
  const std::uint16_t signature = load_be16(&mgid.raw[2]);
  return signature == wire::kIpv4Signature || signature == wire::kIpv6Signature;
}

// IBTA 4.1.1: flags and scope share the second byte.
wire::Gid with_scope(wire::Gid mgid, unsigned scope) {
  mgid.raw[1] = (mgid.raw[1] & std::byte{0xf0}) | static_cast<std::byte>(scope);
  return mgid;
}

void add_group(std::vector<MulticastGroup>& groups, std::uint16_t pkey, PartitionGroup group) {
  if (is_ip(group.mgid)) {
    const std::uint16_t theirs = load_be16(&group.mgid.raw[4]);
    if (theirs != 0 && theirs != pkey) return;
    store_be16(&group.mgid.raw[4], pkey);
    if (group.flags.qkey == 0) group.flags.qkey = kIpoibQkey;
  }
  const unsigned scopes = group.flags.scopes != 0 ? group.flags.scopes : 1U << wire::kLinkLocalScope;
  for (unsigned scope = 0; scope < 16; ++scope) {
    if ((scopes >> scope & 1) == 0) continue;
    MulticastGroup made{with_scope(group.mgid, scope), pkey, group.flags};
    made.flags.scopes = static_cast<std::uint16_t>(1U << scope);
    groups.push_back(made);
  }
}

}  // namespace

std::vector<Partition> default_partitions() {
  Partition partition;
  partition.name = "Default";
  partition.ipoib = true;
  partition.rules.push_back({PortChoice::all, Guid{}, Membership::full});
  return {partition};
}

std::vector<MulticastGroup> groups_of(const Partition& partition) {
  std::vector<MulticastGroup> groups;
  const auto pkey = static_cast<std::uint16_t>(partition.number | kFullMember);
  if (partition.ipoib) add_group(groups, pkey, {broadcast_group(pkey), partition.flags});
  for (const PartitionGroup& group : partition.groups) add_group(groups, pkey, group);
  return groups;
}

}  // namespace softrnic::subnet
