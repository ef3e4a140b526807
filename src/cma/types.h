// The values of rdma_cm: what calls take, what events tell. The names are those of rdma_cma.h.
#pragma once

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "base/reason.h"
#include "cm/types.h"
#include "cma/address.h"
#include "cma/port_space.h"
#include "cma/port_table.h"
#include "cma/states.h"
#include "device/device_kind.h"
#include "iwcm/types.h"
#include "transport/iwarp/same_host_peer.h"
#include "wire/gid.h"
#include "wire/headers.h"
#include "wire/lid.h"

namespace softrnic::cma {

/// An event channel, and a multicast membership: unique in their manager, never 0.
using ChannelNumber = std::uint32_t;
using MembershipNumber = std::uint32_t;

/// struct rdma_conn_param. In events: what the peer offers, as this side has to use it.
struct ConnectionParameters {
  std::vector<std::byte> private_data{};
  std::uint32_t qpn = 0;
  std::uint32_t qkey = 0;
  std::uint8_t responder_resources = 0;
  std::uint8_t initiator_depth = 0;
  std::uint8_t retry_count = 0;      ///< more than 7 counts as 7
  std::uint8_t rnr_retry_count = 0;  ///< more than 7 counts as 7
  bool flow_control = false;
  bool srq = false;
  bool stream_only = false;  ///< iWARP: messages go by TCP, also to a peer on this host
};

/// The port of a device an id is bound to.
struct Binding {
  std::uint32_t device = 0;  ///< DeviceInfo::index, 0: none yet
  device::Kind kind{};
  std::uint64_t guid = 0;
  std::uint32_t interface_index = 0;  ///< netdev; of InfiniBand the number of the port
  std::uint8_t gid_index = 0;
  std::uint16_t pkey = wire::kDefaultPkey;  ///< of the partition that it is in
  wire::Gid gid;                            ///< that its paths begin at; on RoCE and iWARP an IP address
  /// That the program sees as its source; zero: of InfiniBand, and no IP address has led there
  wire::Gid address{};

  explicit operator bool() const { return device != 0; }
  /// Paths come from a subnet administrator, and have LIDs.
  bool has_lids() const { return *this && device::has_lids(kind); }
  /// Connections are streams of TCP.
  bool has_streams() const { return *this && device::has_streams(kind); }
};

/// A connection of iWARP whose TCP socket the program is to have.
struct Handover {
  iwcm::Id stream;
  std::uint64_t token = 0;  ///< by which the program tells that the stream has ended
  bool initiator = false;   ///< this side has connected
  iwarp::MpaAgreement agreement;
  std::optional<iwarp::SameHostPeer> same_host;  ///< then messages do not go by it
};

/// struct ibv_ah_attr of port 1.
struct AddressVector {
  wire::Gid gid;
  std::uint32_t flow_label = 0;
  std::uint8_t sgid_index = 0;
  std::uint8_t hop_limit = 0;
  std::uint8_t traffic_class = 0;
  std::uint8_t sl = 0;
  bool is_global = true;
  // InfiniBand; reserved and 0 elsewhere
  wire::Lid dlid{};
  std::uint8_t source_path_bits = 0;  ///< 7 bits, of which the port uses as many as its LMC says
  std::uint8_t static_rate = 0;       ///< enum ibv_rate
};

/// What the library may know of an id.
struct IdView {
  IdNumber id = 0;
  State state{};
  PortSpace space{};
  ibv_qp_type qp_type{};
  SocketAddress source;
  SocketAddress destination;
  Binding binding;
  wire::Gid destination_gid;
  bool has_path = false;
  cm::Path path;                      ///< means something with has_path
  std::uint8_t packet_life_time = 0;  ///< 5-bit code
  std::uint32_t local_qpn = 0;
  std::uint32_t remote_qpn = 0;
};

struct Event {
  std::uint32_t kind = 0;  ///< enum rdma_cm_event_type, which has more in newer headers than in those here
  int status = 0;          ///< 0, a negative errno, the reason of a REJ, or the status of a SIDR_REP
  IdNumber id = 0;         ///< CONNECT_REQUEST: the new one
  IdNumber listener = 0;   ///< CONNECT_REQUEST
  /// Of the id, of the listener (CONNECT_REQUEST) or of the membership (MULTICAST_…).
  std::uint64_t cookie = 0;
  MembershipNumber membership = 0;
  std::uint64_t argument = 0;  ///< of an event that the program has written
  Reason reason;               ///< of a failure
  ConnectionParameters parameters;
  AddressVector address;  ///< UD: ESTABLISHED, MULTICAST_JOIN
  cm::Ece ece;
  bool has_stream = false;  ///< ESTABLISHED of iWARP's active side: Manager::handover() of its id
};

/// The answer to rdma_init_qp_attr. Fields count when `mask` names them.
struct QpAttributes {
  std::uint32_t mask = 0;  ///< enum ibv_qp_attr_mask
  ibv_qp_state state{};
  std::uint8_t path_mtu = 0;  ///< enum ibv_mtu
  std::uint32_t qkey = 0;
  std::uint32_t rq_psn = 0;
  std::uint32_t sq_psn = 0;
  std::uint32_t dest_qpn = 0;
  std::uint32_t access_flags = 0;
  AddressVector address;
  std::uint16_t pkey_index = 0;
  std::uint8_t max_rd_atomic = 0;
  std::uint8_t max_dest_rd_atomic = 0;
  std::uint8_t min_rnr_timer = 0;
  std::uint8_t port = 1;
  std::uint8_t timeout = 0;
  std::uint8_t retry_count = 0;
  std::uint8_t rnr_retry = 0;
};

}  // namespace softrnic::cma
