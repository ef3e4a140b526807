#include "fabric/link_training.h"

namespace softrnic::fabric {

LinkSettings settings_of(const mad::PortInfo& port) {
  return {port.link_width_enabled, port.link_speed_enabled, port.link_speed_ext_enabled};
}

TrainedLink train(const LinkSettings& a, const LinkSettings& b) {
  TrainedLink link;
  const unsigned widths = static_cast<unsigned>(a.widths & b.widths);
  for (const mad::WidthInfo& info : mad::kLinkWidths) {  // in ascending order
    if ((widths & static_cast<unsigned>(info.width)) != 0) link.width = info.width;
  }
  const unsigned speeds = static_cast<unsigned>(a.speeds & b.speeds);
  const unsigned extended = static_cast<unsigned>(a.extended & b.extended);
  for (const mad::SpeedInfo& info : mad::kLinkSpeeds) {
    const bool enabled = info.extended == mad::LinkSpeedExt::none
                             ? (speeds & static_cast<unsigned>(info.speed)) != 0
                             : (extended & static_cast<unsigned>(info.extended)) != 0;
    if (!enabled) continue;
    link.speed = info.speed;
    link.extended = info.extended;
  }
  return link;
}

}  // namespace softrnic::fabric
