// Width and speed of a link: how many lanes, and how fast each of them is.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace softrnic::fabric {

/// Values are those of PortInfo.LinkWidthActive, bits of LinkWidthEnabled and LinkWidthSupported (IBTA
/// 14.2.5.6).
enum class LinkWidth : std::uint8_t { x1 = 1, x4 = 2, x8 = 4, x12 = 8, x2 = 16 };

/// In ascending order. FDR10 is Mellanox's: in PortInfo it is QDR.
enum class LinkSpeed : std::uint8_t { sdr, ddr, qdr, fdr10, fdr, edr, hdr, ndr };

struct LinkWidthRow {
  LinkWidth width;
  std::string_view name;
  std::uint8_t lanes;
};

/// By number of lanes.
inline constexpr std::array kLinkWidths = {
    LinkWidthRow{LinkWidth::x1, "1x", 1},    LinkWidthRow{LinkWidth::x2, "2x", 2},
    LinkWidthRow{LinkWidth::x4, "4x", 4},    LinkWidthRow{LinkWidth::x8, "8x", 8},
    LinkWidthRow{LinkWidth::x12, "12x", 12},
};

struct LinkSpeedRow {
  LinkSpeed speed;
  std::string_view name;
  std::uint8_t link_speed_active;      ///< PortInfo.LinkSpeedActive: 1, 2 or 4 (IBTA 14.2.5.6)
  std::uint8_t link_speed_ext_active;  ///< PortInfo.LinkSpeedExtActive, 0: not an extended speed
  std::uint32_t lane_mbps;             ///< Mb/s of data on a lane, less the 8b/10b or 64b/66b coding
};

/// Indexed by LinkSpeed.
inline constexpr std::array kLinkSpeeds = {
    LinkSpeedRow{LinkSpeed::sdr, "SDR", 1, 0, 2000},  LinkSpeedRow{LinkSpeed::ddr, "DDR", 2, 0, 4000},
    LinkSpeedRow{LinkSpeed::qdr, "QDR", 4, 0, 8000},  LinkSpeedRow{LinkSpeed::fdr10, "FDR10", 4, 0, 10000},
    LinkSpeedRow{LinkSpeed::fdr, "FDR", 4, 1, 13636}, LinkSpeedRow{LinkSpeed::edr, "EDR", 4, 2, 25000},
    LinkSpeedRow{LinkSpeed::hdr, "HDR", 4, 4, 50000}, LinkSpeedRow{LinkSpeed::ndr, "NDR", 4, 8, 100000},
};

const LinkWidthRow& row_of(LinkWidth width);
const LinkSpeedRow& row_of(LinkSpeed speed);

/// By name, in capitals or not: "4x", "EDR".
std::optional<LinkWidth> find_link_width(std::string_view name);
std::optional<LinkSpeed> find_link_speed(std::string_view name);

/// The names there are, for messages: "1x, 2x, 4x, 8x, 12x".
std::string link_width_names();
std::string link_speed_names();

struct LinkRate {
  LinkWidth width = LinkWidth::x4;
  LinkSpeed speed = LinkSpeed::edr;

  bool operator==(const LinkRate&) const = default;
};

inline constexpr LinkRate kFastestLink{LinkWidth::x12, LinkSpeed::ndr};

/// What a link between two ports comes up with: the lower width and the lower speed, as a port also does all
/// that is below its own.
LinkRate lower(LinkRate a, LinkRate b);

/// Mb/s of data in one direction.
std::uint32_t megabits_per_second(LinkRate rate);

/// "4xEDR", as the tools print it.
std::string to_string(LinkRate rate);
/// The reverse; nothing for anything else.
std::optional<LinkRate> parse_link_rate(std::string_view text);

}  // namespace softrnic::fabric
