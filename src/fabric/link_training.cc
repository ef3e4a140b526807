#include "fabric/link_training.h"

namespace softrnic::fabric {

TrainedLink train(const mad::PortInfo& a, const mad::PortInfo& b) {
  TrainedLink link;
  const unsigned widths = a.link_width_enabled & b.link_width_enabled;
  for (const mad::WidthInfo& info : mad::kLinkWidths) {  // in ascending order
    if ((widths & static_cast<unsigned>(info.width)) != 0) link.width = info.width;
  }
  const unsigned speeds = a.link_speed_enabled & b.link_speed_enabled;
  const unsigned extended = a.link_speed_ext_enabled & b.link_speed_ext_enabled;
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
