#include "cli/link_options.h"

#include <fmt/format.h>

#include <cstddef>
#include <optional>

namespace softrnic::cli {
namespace {

/// "roce" is the same as "rocev2", as there is no other.
std::optional<device::Kind> kind_of(const std::string& type) {
  for (std::size_t i = 0; i < device::kKindInfos.size(); ++i)
    if (type == device::kKindInfos[i].link_type) return static_cast<device::Kind>(i);
  return type == "roce" ? std::optional(device::Kind::roce_v2) : std::nullopt;
}

}  // namespace

std::string parse_link(const std::vector<std::string>& words, LinkOptions& options) {
  options.name = words.empty() ? "" : words[0];
  for (std::size_t i = 1; i + 1 < words.size(); i += 2) {
    const std::string& value = words[i + 1];
    if (words[i] == "netdev") {
      options.netdev = value;
    } else if (words[i] != "type") {
      return fmt::format("'{}' is not known here", words[i]);
    } else if (const auto kind = kind_of(value)) {
      options.kind = *kind;
    } else {
      return fmt::format("link type '{}' is not there; use rocev2 or iwarp", value);
    }
  }
  if (words.size() % 2 == 0 || options.netdev.empty())
    return "say: link add NAME type rocev2|iwarp netdev DEV";
  return {};
}

}  // namespace softrnic::cli
