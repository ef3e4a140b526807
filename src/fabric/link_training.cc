#include "fabric/link_training.h"

namespace softrnic::fabric {

LinkSettings settings_of(const mad::PortInfo& port) {
  return {port.link_width_enabled, port.link_speed_enabled, port.link_speed_ext_enabled};
}

TrainedLink train(const LinkSettings& a, const LinkSettings& b, LinkRate cable) {
  TrainedLink link;
  const unsigned widths = static_cast<unsigned>(a.widths & b.widths);
  for (const mad::WidthInfo& info : mad::kLinkWidths) {  // in ascending order
    const bool carried = info.lanes <= row_of(cable.width).lanes;
    if (carried && (widths & static_cast<unsigned>(info.width)) != 0) link.width = info.width;
  }
  const unsigned speeds = static_cast<unsigned>(a.speeds & b.speeds);
  const unsigned extended = static_cast<unsigned>(a.extended & b.extended);
  for (const mad::SpeedInfo& info : mad::kLinkSpeeds) {
    const bool enabled = info.extended == mad::LinkSpeedExt::none
                             ? (speeds & static_cast<unsigned>(info.speed)) != 0
                             : (extended & static_cast<unsigned>(info.extended)) != 0;
    const bool carried = info.lane_data_kbits / 1000 <= row_of(cable.speed).lane_mbps;
    if (!enabled || !carried) continue;
    link.speed = info.speed;
    link.extended = info.extended;
  }
  return link;
}

}  // namespace softrnic::fabric
