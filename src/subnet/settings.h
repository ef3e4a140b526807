// Attributes that are to be set, and those that ports were set to before and that are not read again:
// forwarding tables, VL tables, P_Key tables of switches. Only what differs is sent.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "mad/field.h"
#include "mad/smp.h"
#include "subnet/subnet.h"

namespace softrnic::subnet {

using AttributeData = std::array<std::byte, mad::kSmpDataBytes>;

struct Setting {
  NodePort port;  ///< whose route the request takes; of a switch, any
  std::uint16_t attribute = 0;
  std::uint32_t modifier = 0;
  AttributeData data{};
};
using Settings = std::vector<Setting>;

template <typename Attribute>
Setting setting_of(NodePort port, const Attribute& value, std::uint32_t modifier = 0) {
  Setting made{port, Attribute::kAttribute, modifier, {}};
  mad::encode(value, made.data);
  return made;
}

/// What ports have confirmed, by the GUID of the port that is managed: an adapter's own, or port 0 of a
/// switch.
class SentAttributes {
 public:
  bool has(Guid port, const Setting& setting) const {
    const auto of_port = sent_.find(port);
    if (of_port == sent_.end()) return false;
    const auto found = of_port->second.find(key(setting));
    return found != of_port->second.end() && found->second == setting.data;
  }
  void note(Guid port, const Setting& setting) { sent_[port][key(setting)] = setting.data; }
  void forget(Guid port) { sent_.erase(port); }
  void forget_all() { sent_.clear(); }

  /// Calls `visit(modifier)` for each block of that attribute that the port was sent.
  template <typename Visit>
  void for_each(Guid port, std::uint16_t attribute, Visit&& visit) const {
    const auto of_port = sent_.find(port);
    if (of_port == sent_.end()) return;
    for (auto at = of_port->second.lower_bound({attribute, 0});
         at != of_port->second.end() && at->first.first == attribute; ++at)
      visit(at->first.second);
  }
  /// Forgets ports for which `is_there(guid)` is false.
  template <typename IsThere>
  void keep_only(IsThere&& is_there) {
    std::erase_if(sent_, [&](const auto& entry) { return !is_there(entry.first); });
  }

 private:
  using Key = std::pair<std::uint16_t, std::uint32_t>;  // attribute, modifier
  static Key key(const Setting& setting) { return {setting.attribute, setting.modifier}; }

  std::unordered_map<Guid, std::map<Key, AttributeData>> sent_;
};

}  // namespace softrnic::subnet
