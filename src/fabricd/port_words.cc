#include "fabricd/port_words.h"

#include <iterator>

#include "mad/link.h"

namespace softrnic::fabricd {

std::string_view name_of(mad::PortState state) {
  constexpr std::string_view kNames[] = {"", "down", "init", "armed", "active"};
  const auto index = static_cast<std::size_t>(state);
  return index < std::size(kNames) ? kNames[index] : "";
}

std::string_view name_of(mad::PortPhysicalState state) {
  constexpr std::string_view kNames[] = {"",         "sleep",   "polling",        "disabled",
                                         "training", "link up", "error recovery", "phy test"};
  const auto index = static_cast<std::size_t>(state);
  return index < std::size(kNames) ? kNames[index] : "";
}

std::string_view width_of(const mad::PortInfo& info) {
  for (const mad::WidthInfo& width : mad::kLinkWidths)
    if (width.width == info.link_width_active) return width.name;
  return "";
}

std::string_view speed_of(const mad::PortInfo& info) {
  const mad::SpeedInfo* const speed = mad::find_speed(info.link_speed_active, info.link_speed_ext_active);
  return speed != nullptr ? speed->name : "";
}

}  // namespace softrnic::fabricd
