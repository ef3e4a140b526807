#include "subnet/sa_request.h"

namespace softrnic::subnet {
namespace {

/// Of the same partition, and not both limited members.
bool match(std::uint16_t a, std::uint16_t b) {
  return !is_invalid_p_key(a) && ((a ^ b) & kPartitionMask) == 0 && ((a | b) & kFullMember) != 0;
}

}  // namespace

std::uint16_t common_p_key(const PkeyTable& source, const PkeyTable& destination) {
  for (const std::uint16_t own : source)
    for (const std::uint16_t theirs : destination)
      if (match(own, theirs)) return own;
  return 0;
}

bool share_p_key(const PkeyTable& source, const PkeyTable& destination, std::uint16_t p_key) {
  for (const std::uint16_t own : source) {
    if (((own ^ p_key) & kPartitionMask) != 0) continue;
    if (std::ranges::any_of(destination, [own](std::uint16_t theirs) { return match(own, theirs); }))
      return true;
  }
  return false;
}

bool has_p_key(const PkeyTable& table, std::uint16_t p_key) {
  return std::ranges::any_of(table, [p_key](std::uint16_t own) {
    return !is_invalid_p_key(own) && ((own ^ p_key) & kPartitionMask) == 0;
  });
}

bool SaView::may_see(NodePort requester, NodePort other) const {
  const EndPortId a = end_port(requester);
  const EndPortId b = end_port(other);
  if (a == kNoEndPort || b == kNoEndPort) return false;
  return a == b || common_p_key(database.p_keys_of(a), database.p_keys_of(b)) != 0;
}

Lid SaView::base_lid(Lid lid) const {
  const EndPortId owner = database.graph().owner_of(lid);
  return owner == kNoEndPort ? lid : database.graph().at(owner).base_lid;
}

Lid SaView::lid_of(NodePort port) const {
  const EndPortId id = end_port(port);
  return id == kNoEndPort ? Lid{} : database.graph().at(id).base_lid;
}

}  // namespace softrnic::subnet
