// The kinds of devices: all that verbs say of a device because of the network and the transport behind it.
// What else a new transport needs: docs/design/transports.md.
#pragma once

#include <infiniband/verbs.h>

#include <array>
#include <cstddef>
#include <cstdint>

namespace softrnic::device {

enum class Kind : std::uint8_t {
  roce_v2,  ///< InfiniBand transport in UDP datagrams (IBTA annex A17)
  iwarp,    ///< RDMAP, DDP and MPA on TCP (RFC 5040, 5041, 5044)
};

struct KindInfo {
  ibv_node_type node;
  ibv_transport_type transport;
  std::uint8_t link_layer;        ///< IBV_LINK_LAYER_*
  ibv_gid_type gid_type;          ///< of every entry of the GID table
  std::uint32_t port_cap_flags;   ///< enum ibv_port_cap_flags
  std::uint8_t port_query_flags;  ///< ibv_port_attr::flags
};

inline constexpr std::array<KindInfo, 2> kKindInfos{{
    {.node = IBV_NODE_CA,
     .transport = IBV_TRANSPORT_IB,
     .link_layer = IBV_LINK_LAYER_ETHERNET,
     .gid_type = IBV_GID_TYPE_ROCE_V2,
     .port_cap_flags = IBV_PORT_CM_SUP | IBV_PORT_IP_BASED_GIDS,
     .port_query_flags = IBV_QPF_GRH_REQUIRED},
    {.node = IBV_NODE_RNIC,
     .transport = IBV_TRANSPORT_IWARP,
     .link_layer = IBV_LINK_LAYER_ETHERNET,
     .gid_type = IBV_GID_TYPE_IB,
     .port_cap_flags = IBV_PORT_CM_SUP | IBV_PORT_DEVICE_MGMT_SUP,
     .port_query_flags = 0},
}};

constexpr const KindInfo& info_of(Kind kind) { return kKindInfos[static_cast<std::size_t>(kind)]; }
/// Whether its queue pairs go by streams of TCP.
constexpr bool has_streams(Kind kind) { return info_of(kind).transport == IBV_TRANSPORT_IWARP; }

}  // namespace softrnic::device
