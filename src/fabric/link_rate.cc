#include "fabric/link_rate.h"

#include <algorithm>

namespace softrnic::fabric {
namespace {

constexpr char upper(char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; }

bool same_name(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return upper(x) == upper(y); });
}

template <typename Rows>
auto find_named(const Rows& rows, std::string_view name) {
  return std::find_if(rows.begin(), rows.end(), [&](const auto& row) { return same_name(row.name, name); });
}

template <typename Rows>
std::string names_of(const Rows& rows) {
  std::string out;
  for (const auto& row : rows) out += (out.empty() ? "" : ", ") + std::string(row.name);
  return out;
}

}  // namespace

const LinkWidthRow& row_of(LinkWidth width) {
  for (const LinkWidthRow& row : kLinkWidths) {
    if (row.width == width) return row;
  }
  return kLinkWidths.front();
}

const LinkSpeedRow& row_of(LinkSpeed speed) {
  return kLinkSpeeds[std::min<std::size_t>(static_cast<std::size_t>(speed), kLinkSpeeds.size() - 1)];
}

std::optional<LinkWidth> find_link_width(std::string_view name) {
  const auto row = find_named(kLinkWidths, name);
  if (row == kLinkWidths.end()) return std::nullopt;
  return row->width;
}

std::optional<LinkSpeed> find_link_speed(std::string_view name) {
  const auto row = find_named(kLinkSpeeds, name);
  if (row == kLinkSpeeds.end()) return std::nullopt;
  return row->speed;
}

std::string link_width_names() { return names_of(kLinkWidths); }
std::string link_speed_names() { return names_of(kLinkSpeeds); }

LinkRate lower(LinkRate a, LinkRate b) {
  return {row_of(a.width).lanes < row_of(b.width).lanes ? a.width : b.width, std::min(a.speed, b.speed)};
}

std::uint32_t megabits_per_second(LinkRate rate) {
  return row_of(rate.width).lanes * row_of(rate.speed).lane_mbps;
}

std::string to_string(LinkRate rate) {
  return std::string(row_of(rate.width).name) + std::string(row_of(rate.speed).name);
}

std::optional<LinkRate> parse_link_rate(std::string_view text) {
  const std::size_t x = text.find_first_of("xX");
  if (x == std::string_view::npos) return std::nullopt;
  const auto width = find_link_width(text.substr(0, x + 1));
  const auto speed = find_link_speed(text.substr(x + 1));
  if (!width || !speed) return std::nullopt;
  return LinkRate{*width, *speed};
}

}  // namespace softrnic::fabric
