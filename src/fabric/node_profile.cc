#include "fabric/node_profile.h"

namespace softrnic::fabric {
namespace {

PortProfile profile_of(const Port& port) {
  PortProfile profile;
  profile.guid = port.guid;
  profile.link_widths = profile.link_speeds = profile.extended_link_speeds = 0;
  for (const LinkWidthRow& row : kLinkWidths) {
    if (row.lanes <= row_of(port.rate.width).lanes)
      profile.link_widths |= static_cast<std::uint8_t>(row.width);
  }
  for (const LinkSpeedRow& row : kLinkSpeeds) {
    if (row.speed > port.rate.speed) continue;
    profile.link_speeds |= row.link_speed_active;
    profile.extended_link_speeds |= row.link_speed_ext_active;
  }
  return profile;
}

}  // namespace

NodeProfile profile_of(const Node& node) {
  NodeProfile profile;
  profile.description = node.description.empty() ? node.name : node.description;
  profile.guid = node.guid;
  profile.system_image_guid = node.system_image_guid;
  profile.vendor_id = node.vendor_id;
  profile.device_id = node.device_id;
  profile.enhanced_port0 = node.enhanced_port0;
  for (const Port& port : node.ports) profile.ports.push_back(profile_of(port));
  return profile;
}

}  // namespace softrnic::fabric
