// The attributes of each management class: their numbers, names, methods, and what their modifiers mean (IBTA
// 14.2.5, 15.2.5, 16.1.3, 16.1.4; 13.4.8 of those that all classes share).
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>

#include "mad/mad.h"

namespace softrnic::mad {

/// Requests by their methods below 0x20.
class MethodSet {
 public:
  constexpr MethodSet(std::initializer_list<Method> methods) {
    for (const Method method : methods) bits_ |= bit(method);
  }
  constexpr bool contains(Method method) const { return (bits_ & bit(method)) != 0; }

 private:
  static constexpr std::uint32_t bit(Method method) {
    const auto number = static_cast<unsigned>(method);
    return number < 32 ? 1U << number : 0;
  }
  std::uint32_t bits_ = 0;
};

/// What an attribute modifier is; formats of more than one field are in mad/attribute_modifier.h.
enum class Modifier : std::uint8_t {
  none,             ///< 0
  port,             ///< PortModifier
  block,            ///< the number of a block
  p_key_block,      ///< PKeyTableModifier
  sl_to_vl_ports,   ///< SlToVlModifier
  arbitration,      ///< VlArbitrationModifier
  multicast_block,  ///< MulticastForwardingModifier
  sm_control,       ///< SmInfo::Control in a Set, 0 in a Get
  vendor,           ///< the vendor says
};

struct AttributeInfo {
  std::uint16_t id;
  std::string_view name;
  MethodSet methods;  ///< that the standard allows; an agent may know fewer
  Modifier modifier;
};

/// Both classes of subnet management, subnet administration and performance management; others have none.
std::span<const AttributeInfo> attributes_of(ManagementClass management_class);
/// nullptr: the class has no such attribute.
const AttributeInfo* find_attribute(ManagementClass management_class, std::uint16_t id);

}  // namespace softrnic::mad
