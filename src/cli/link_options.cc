#include "cli/link_options.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <optional>

namespace softrnic::cli {
namespace {

/// "roce" is RoCEv2, as there is no other.
std::optional<device::Kind> kind_of(const std::string& type) {
  for (std::size_t i = 0; i < device::kKindInfos.size(); ++i)
    if (type == device::kKindInfos[i].link_type) return static_cast<device::Kind>(i);
  return type == "roce" ? std::optional(device::Kind::roce_v2) : std::nullopt;
}

std::string take_netdev(const std::string& value, device::NewDevice& device) {
  device.netdev = value;
  return {};
}

std::string take_type(const std::string& value, device::NewDevice& device) {
  const auto kind = kind_of(value);
  if (!kind) return fmt::format("link type '{}' is not there; use rocev2 or iwarp", value);
  device.kind = *kind;
  return {};
}

template <bool wire::MpaDemands::*Demand>
std::string take_demand(const std::string& value, device::NewDevice& device) {
  if (value != "on" && value != "off") return fmt::format("'{}' is neither on nor off", value);
  device.mpa.*Demand = value == "on";
  return {};
}

struct Word {
  const char* word;
  std::string (*take)(const std::string& value, device::NewDevice& device);
};
constexpr Word kWords[] = {{"netdev", take_netdev},
                           {"type", take_type},
                           {"crc", take_demand<&wire::MpaDemands::crc>},
                           {"markers", take_demand<&wire::MpaDemands::markers>}};

}  // namespace

std::string parse_link(const std::vector<std::string>& words, device::NewDevice& device) {
  device.name = words.empty() ? "" : words[0];
  for (std::size_t i = 1; i + 1 < words.size(); i += 2) {
    const auto* const known =
        std::ranges::find_if(kWords, [&](const Word& each) { return words[i] == each.word; });
    if (known == std::end(kWords)) return fmt::format("'{}' is not known here", words[i]);
    if (std::string trouble = known->take(words[i + 1], device); !trouble.empty()) return trouble;
  }
  if (words.size() % 2 == 0 || device.netdev.empty()) return fmt::format("say: link add {}", kLinkWords);
  return {};
}

}  // namespace softrnic::cli
