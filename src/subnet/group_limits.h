// MTU, rate and lifetime of a multicast group: what a request may ask of a group that there is, and what a
// group gets that is made for it (IBTA 15.2.5.17, o15-0.2.3).
#pragma once

#include <cstdint>
#include <optional>

#include "mad/port_info.h"
#include "mad/sa_multicast_record.h"

namespace softrnic::subnet {

/// Whether the group is what the selectors of the request say. A lifetime is not compared, as in opensm.
bool agrees_in_limits(const mad::McMemberRecord& asked, std::uint64_t mask, const mad::McMemberRecord& group);

/// Whether a port can take packets as large and as fast as the group's.
bool can_receive(const mad::PortInfo& port, const mad::McMemberRecord& group);

/// The request as a group, with what it left open or to a selector as good as that port can. Nothing if the
/// port cannot, or a code means nothing.
std::optional<mad::McMemberRecord> realize_limits(const mad::McMemberRecord& asked, std::uint64_t mask,
                                                  const mad::PortInfo& port, std::uint8_t life_time);

}  // namespace softrnic::subnet
