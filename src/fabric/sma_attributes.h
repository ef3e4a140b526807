// How the SMA answers each attribute; included by the agent's own files alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "fabric/managed_node.h"
#include "fabric/subnet_management_agent.h"
#include "mad/mad.h"
#include "mad/smp.h"

namespace softrnic::fabric {

struct SmaRequest {
  Engine& engine;
  SmaEvents& events;
  ManagedNode& node;
  std::uint8_t in_port;  ///< where it came in; 0 of a switch's own
  const mad::Smp& smp;   ///< as it came

  ManagedPort& endport() const { return node.endport(in_port); }
  /// The port that a modifier names, where adapters have their own for 0. nullptr: there is no such port.
  ManagedPort* port(std::size_t number) const;
};

using SmpData = std::span<std::byte, mad::kSmpDataBytes>;
using ConstSmpData = std::span<const std::byte, mad::kSmpDataBytes>;

/// `ok`, or why not; then `data`, all zero before, is not to be used.
using SmaGet = mad::Status (*)(const SmaRequest& request, SmpData data);
/// `ok`, or why nothing has changed.
using SmaSet = mad::Status (*)(const SmaRequest& request, ConstSmpData data);

// sma_node_attributes.cc
mad::Status get_node_description(const SmaRequest& request, SmpData data);
mad::Status set_node_description(const SmaRequest& request, ConstSmpData data);
mad::Status get_node_info(const SmaRequest& request, SmpData data);
mad::Status get_switch_info(const SmaRequest& request, SmpData data);
mad::Status set_switch_info(const SmaRequest& request, ConstSmpData data);
mad::Status get_guid_info(const SmaRequest& request, SmpData data);
mad::Status set_guid_info(const SmaRequest& request, ConstSmpData data);
mad::Status get_vendor_diag(const SmaRequest& request, SmpData data);
mad::Status get_led_info(const SmaRequest& request, SmpData data);
mad::Status set_led_info(const SmaRequest& request, ConstSmpData data);

// sma_port_info.cc
mad::Status get_port_info(const SmaRequest& request, SmpData data);
mad::Status set_port_info(const SmaRequest& request, ConstSmpData data);

// sma_forwarding_tables.cc
mad::Status get_linear_forwarding_table(const SmaRequest& request, SmpData data);
mad::Status set_linear_forwarding_table(const SmaRequest& request, ConstSmpData data);
mad::Status get_multicast_forwarding_table(const SmaRequest& request, SmpData data);
mad::Status set_multicast_forwarding_table(const SmaRequest& request, ConstSmpData data);

// sma_port_tables.cc
mad::Status get_p_key_table(const SmaRequest& request, SmpData data);
mad::Status set_p_key_table(const SmaRequest& request, ConstSmpData data);
mad::Status get_sl_to_vl(const SmaRequest& request, SmpData data);
mad::Status set_sl_to_vl(const SmaRequest& request, ConstSmpData data);
mad::Status get_vl_arbitration(const SmaRequest& request, SmpData data);
mad::Status set_vl_arbitration(const SmaRequest& request, ConstSmpData data);

}  // namespace softrnic::fabric
