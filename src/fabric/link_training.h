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

/// What a port has enabled: LinkWidthEnabled, LinkSpeedEnabled and LinkSpeedExtEnabled.
struct LinkSettings {
  std::uint8_t widths = 0;
  std::uint8_t speeds = 0;
  std::uint8_t extended = 0;

  bool operator==(const LinkSettings&) const = default;
};
LinkSettings settings_of(const mad::PortInfo& port);

/// The widest and fastest that the cable carries; 1X and SDR, which every port has, where nothing is common.
TrainedLink train(const LinkSettings& a, const LinkSettings& b, LinkRate cable = kFastestLink);

}  // namespace softrnic::fabric
