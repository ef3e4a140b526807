// A channel adapter (or switch) and its ports as programs of management see them: what libibumad tells.
#pragma once

#include <infiniband/verbs.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace softrnic::control {

inline constexpr std::size_t kMadPortsOfCa = 10;  ///< UMAD_CA_MAX_PORTS; a switch has port 0 alone
inline constexpr std::size_t kMadMostPkeys = 128;

struct MadPort {
  std::uint32_t number = 1;  ///< below kMadPortsOfCa
  std::uint16_t lid = 0;
  std::uint8_t lmc = 0;
  std::uint16_t sm_lid = 0;
  std::uint8_t sm_sl = 0;
  std::uint8_t state = 0;           ///< PortState, IBTA 14.2.5.6
  std::uint8_t physical_state = 0;  ///< PortPhysicalState
  std::uint32_t rate = 0;           ///< whole Gb/s of width times speed
  std::uint32_t capability_mask = 0;
  std::uint8_t link_layer = IBV_LINK_LAYER_INFINIBAND;
  std::uint64_t gid_prefix = 0;
  std::uint64_t port_guid = 0;
  std::vector<std::uint16_t> pkeys;  ///< by index, at most kMadMostPkeys

  bool has_qp0() const { return link_layer == IBV_LINK_LAYER_INFINIBAND; }
};

struct MadCa {
  std::string name;
  std::uint8_t node_type = IBV_NODE_CA;
  std::string firmware;  ///< version
  std::string hardware;  ///< version
  std::string type;
  std::uint64_t node_guid = 0;
  std::uint64_t system_guid = 0;
  std::vector<MadPort> ports;  ///< by number, ascending; at most kMadPortsOfCa

  /// The port with that number; nullptr: there is none.
  const MadPort* port(std::uint32_t number) const;
};

}  // namespace softrnic::control
