// The kinds of devices: all that verbs say of a device because of the network and the transport behind it.
// What else a new transport needs: docs/design/transports.md.
#pragma once

#include <infiniband/verbs.h>

#include <array>
#include <cstddef>
#include <cstdint>

namespace softrnic::device {

enum class Kind : std::uint8_t {
  roce_v2,     ///< InfiniBand transport in UDP datagrams (IBTA annex A17)
  iwarp,       ///< RDMAP, DDP and MPA on TCP (RFC 5040, 5041, 5044)
  infiniband,  ///< a port of an emulated fabric
};

struct KindInfo {
  ibv_node_type node;
  ibv_transport_type transport;
  std::uint8_t link_layer;        ///< IBV_LINK_LAYER_*
  ibv_gid_type gid_type;          ///< of every entry of the GID table
  std::uint32_t port_cap_flags;   ///< enum ibv_port_cap_flags; of InfiniBand each port says its own
  std::uint8_t port_query_flags;  ///< ibv_port_attr::flags
  const char* link_type;          ///< as `softrnic link add … type` takes it
};

inline constexpr std::array<KindInfo, 3> kKindInfos{{
    {.node = IBV_NODE_CA,
     .transport = IBV_TRANSPORT_IB,
     .link_layer = IBV_LINK_LAYER_ETHERNET,
     .gid_type = IBV_GID_TYPE_ROCE_V2,
     .port_cap_flags = IBV_PORT_CM_SUP | IBV_PORT_IP_BASED_GIDS,
     .port_query_flags = IBV_QPF_GRH_REQUIRED,
     .link_type = "rocev2"},
    {.node = IBV_NODE_RNIC,
     .transport = IBV_TRANSPORT_IWARP,
     .link_layer = IBV_LINK_LAYER_ETHERNET,
     .gid_type = IBV_GID_TYPE_IB,
     .port_cap_flags = IBV_PORT_CM_SUP | IBV_PORT_DEVICE_MGMT_SUP,
     .port_query_flags = 0,
     .link_type = "iwarp"},
    {.node = IBV_NODE_CA,
     .transport = IBV_TRANSPORT_IB,
     .link_layer = IBV_LINK_LAYER_INFINIBAND,
     .gid_type = IBV_GID_TYPE_IB,
     .port_cap_flags = 0,
     .port_query_flags = 0,
     .link_type = "infiniband"},
}};

/// Whether the number that came from outside is one of a kind.
constexpr bool is_kind(std::uint32_t number) { return number < kKindInfos.size(); }
constexpr const KindInfo& info_of(Kind kind) { return kKindInfos[static_cast<std::size_t>(kind)]; }
/// Whether its GIDs are the IP addresses of its netdev.
constexpr bool gids_are_addresses(Kind kind) { return info_of(kind).gid_type == IBV_GID_TYPE_ROCE_V2; }
/// Whether its ports have LIDs, which a subnet manager gives.
constexpr bool has_lids(Kind kind) { return info_of(kind).link_layer == IBV_LINK_LAYER_INFINIBAND; }
/// Whether its queue pairs go by streams of TCP.
constexpr bool has_streams(Kind kind) { return info_of(kind).transport == IBV_TRANSPORT_IWARP; }

}  // namespace softrnic::device
