// Which width and speed a link comes up with, of those that both of its ports have enabled (IBTA 5.6.4,
// 14.2.5.6).
#pragma once

#include "fabric/link_rate.h"
#include "mad/link.h"
#include "mad/port_info.h"

namespace softrnic::fabric {

struct TrainedLink {
  mad::LinkWidth width = mad::LinkWidth::x1;
  mad::LinkSpeed speed = mad::LinkSpeed::sdr;  ///< `extended`: see the next
  mad::LinkSpeedExt extended = mad::LinkSpeedExt::none;

  bool operator==(const TrainedLink&) const = default;
};

/// The widest and fastest that the cable carries; 1X and SDR, which every port has, where nothing is common.
TrainedLink train(const mad::PortInfo& a, const mad::PortInfo& b, LinkRate cable = kFastestLink);

}  // namespace softrnic::fabric
