// NodeDescription and NodeInfo: what a node is (IBTA 14.2.5.2, 14.2.5.3).
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "mad/field.h"
#include "mad/guid.h"

namespace softrnic::mad {

enum class NodeType : std::uint8_t { channel_adapter = 1, switch_node = 2, router = 3 };

struct NodeDescription {
  static constexpr std::uint16_t kAttribute = 0x0010;

  std::array<char, 64> text{};  ///< UTF-8, not always terminated

  std::string_view view() const {
    const std::string_view whole(text.data(), text.size());
    return whole.substr(0, whole.find('\0'));
  }
  /// What is longer than 64 bytes is cut off.
  static NodeDescription of(std::string_view words) {
    NodeDescription description;
    words.copy(description.text.data(), description.text.size());
    return description;
  }
};
template <>
inline constexpr std::array fields_of<NodeDescription> = {
    field<&NodeDescription::text>("node_description", 0, 0, 512),
};
static_assert(covers<NodeDescription>(64));

/// Of a switch, `port_guid` is that of port 0; of others that of the port that was asked.
struct NodeInfo {
  static constexpr std::uint16_t kAttribute = 0x0011;

  std::uint8_t base_version = 1;
  std::uint8_t class_version = 1;
  NodeType node_type{};
  std::uint8_t num_ports = 0;  ///< external ones: port 0 of a switch is not counted
  Guid system_image_guid{};
  Guid node_guid{};
  Guid port_guid{};
  std::uint16_t partition_cap = 0;  ///< entries of the P_Key table of a port; of a switch, of port 0
  std::uint16_t device_id = 0;
  std::uint32_t revision = 0;
  std::uint8_t local_port_num = 0;  ///< the port that this was asked through
  std::uint32_t vendor_id = 0;      ///< 24 bits
};
template <>
inline constexpr std::array fields_of<NodeInfo> = {
    field<&NodeInfo::base_version>("base_version", 0, 0, 8),
    field<&NodeInfo::class_version>("class_version", 1, 0, 8),
    field<&NodeInfo::node_type>("node_type", 2, 0, 8),
    field<&NodeInfo::num_ports>("num_ports", 3, 0, 8),
    field<&NodeInfo::system_image_guid>("system_image_guid", 4, 0, 64),
    field<&NodeInfo::node_guid>("node_guid", 12, 0, 64),
    field<&NodeInfo::port_guid>("port_guid", 20, 0, 64),
    field<&NodeInfo::partition_cap>("partition_cap", 28, 0, 16),
    field<&NodeInfo::device_id>("device_id", 30, 0, 16),
    field<&NodeInfo::revision>("revision", 32, 0, 32),
    field<&NodeInfo::local_port_num>("local_port_num", 36, 0, 8),
    field<&NodeInfo::vendor_id>("vendor_id", 37, 0, 24),
};
static_assert(covers<NodeInfo>(40));

}  // namespace softrnic::mad
