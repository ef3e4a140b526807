// Widths, speeds, MTUs and rates of links as management datagrams write them (IBTA 14.2.5.6, 15.2.5.16).
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string_view>

namespace softrnic::mad {

enum class LinkWidth : std::uint8_t { x1 = 1, x4 = 2, x8 = 4, x12 = 8, x2 = 16 };
inline constexpr std::uint8_t kAllSupportedWidths = 0xff;  ///< for LinkWidthEnabled

/// A port at a speed of LinkSpeedExt is `extended` here.
enum class LinkSpeed : std::uint8_t { extended = 0, sdr = 1, ddr = 2, qdr = 4 };
inline constexpr std::uint8_t kAllSupportedSpeeds = 0x0f;  ///< for LinkSpeedEnabled

enum class LinkSpeedExt : std::uint8_t { none = 0, fdr = 1, edr = 2, hdr = 4, ndr = 8 };
inline constexpr std::uint8_t kNoExtendedSpeeds = 30;  ///< for LinkSpeedExtEnabled
inline constexpr std::uint8_t kAllSupportedExtendedSpeeds = 31;

enum class Mtu : std::uint8_t { none = 0, b256 = 1, b512 = 2, b1024 = 3, b2048 = 4, b4096 = 5 };
/// 0 of a code without meaning.
constexpr std::uint16_t bytes_of(Mtu mtu) {
  return mtu >= Mtu::b256 && mtu <= Mtu::b4096
             ? static_cast<std::uint16_t>(128U << static_cast<unsigned>(mtu))
             : std::uint16_t{0};
}

struct WidthInfo {
  LinkWidth width;
  std::uint8_t lanes;
  std::string_view name;
};
inline constexpr WidthInfo kLinkWidths[] = {
    {LinkWidth::x1, 1, "1X"}, {LinkWidth::x2, 2, "2X"},    {LinkWidth::x4, 4, "4X"},
    {LinkWidth::x8, 8, "8X"}, {LinkWidth::x12, 12, "12X"},
};
/// 0 of what is not exactly one width.
constexpr std::uint8_t lanes_of(LinkWidth width) {
  for (const WidthInfo& info : kLinkWidths)
    if (info.width == width) return info.lanes;
  return 0;
}

struct SpeedInfo {
  LinkSpeed speed;
  LinkSpeedExt extended;
  std::string_view name;
  std::uint16_t lane_rate;        ///< as rates are named, in 100 Mb/s
  std::uint32_t lane_data_kbits;  ///< what is left for packets after line code and FEC, in kb/s
};
inline constexpr SpeedInfo kLinkSpeeds[] = {
    {LinkSpeed::sdr, LinkSpeedExt::none, "SDR", 25, 2'000'000},
    {LinkSpeed::ddr, LinkSpeedExt::none, "DDR", 50, 4'000'000},
    {LinkSpeed::qdr, LinkSpeedExt::none, "QDR", 100, 8'000'000},
    {LinkSpeed::extended, LinkSpeedExt::fdr, "FDR", 140, 13'636'364},
    {LinkSpeed::extended, LinkSpeedExt::edr, "EDR", 250, 25'000'000},
    {LinkSpeed::extended, LinkSpeedExt::hdr, "HDR", 500, 50'000'000},
    {LinkSpeed::extended, LinkSpeedExt::ndr, "NDR", 1000, 100'000'000},
};
/// nullptr of what is not exactly one speed. An extended speed that is active goes before the other.
constexpr const SpeedInfo* find_speed(LinkSpeed speed, LinkSpeedExt extended) {
  if (extended != LinkSpeedExt::none) speed = LinkSpeed::extended;
  for (const SpeedInfo& info : kLinkSpeeds)
    if (info.speed == speed && info.extended == extended) return &info;
  return nullptr;
}

/// Rates of paths and multicast groups. Neither codes nor names are in order of speed (30 Gb/s is 12X SDR and
/// carries less than the 25 Gb/s of 1X EDR): compare data_rate().
enum class Rate : std::uint8_t {
  none = 0,
  gb2_5 = 2,
  gb10 = 3,
  gb30 = 4,
  gb5 = 5,
  gb20 = 6,
  gb40 = 7,
  gb60 = 8,
  gb80 = 9,
  gb120 = 10,
  gb14 = 11,
  gb56 = 12,
  gb112 = 13,
  gb168 = 14,
  gb25 = 15,
  gb100 = 16,
  gb200 = 17,
  gb300 = 18,
  gb28 = 19,
  gb50 = 20,
  gb400 = 21,
  gb600 = 22,
  gb800 = 23,
  gb1200 = 24,
};
struct RateInfo {
  std::uint16_t named;  ///< in 100 Mb/s
  std::uint16_t data;   ///< without line code, in 100 Mb/s
};
/// By code.
inline constexpr RateInfo kRates[] = {
    {0, 0},       {0, 0},       {25, 20},     {100, 80},      {300, 240},   {50, 40},   {200, 160},
    {400, 320},   {600, 480},   {800, 640},   {1200, 960},    {140, 136},   {560, 545}, {1120, 1091},
    {1680, 1636}, {250, 250},   {1000, 1000}, {2000, 2000},   {3000, 3000}, {280, 273}, {500, 500},
    {4000, 4000}, {6000, 6000}, {8000, 8000}, {12000, 12000},
};
/// In 100 Mb/s; 0 of a code without meaning.
constexpr std::uint16_t data_rate(Rate rate) {
  const auto code = static_cast<std::size_t>(rate);
  return code < std::size(kRates) ? kRates[code].data : std::uint16_t{0};
}

/// The rate of a link; `none` if width or speed are not exactly one.
constexpr Rate link_rate(LinkWidth width, LinkSpeed speed, LinkSpeedExt extended) {
  const SpeedInfo* const info = find_speed(speed, extended);
  const std::size_t rate = info == nullptr ? 0 : std::size_t{info->lane_rate} * lanes_of(width);
  for (std::size_t code = 2; rate != 0 && code < std::size(kRates); ++code)
    if (kRates[code].named == rate) return static_cast<Rate>(code);
  return Rate::none;
}

}  // namespace softrnic::mad
