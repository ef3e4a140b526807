// A communication id as the manager and its parts know it.
#pragma once

#include <cstdint>
#include <optional>

#include "cm/types.h"
#include "cma/device_choice.h"
#include "cma/types.h"

namespace softrnic::cma {

/// What the two sides have agreed on, as this side's queue pair needs it.
struct Agreement {
  std::uint32_t remote_qpn = 0;
  std::uint32_t remote_starting_psn = 0;  ///< what this side's first packet has to bear
  std::uint8_t responder_resources = 0;
  std::uint8_t initiator_depth = 0;
  std::uint8_t retry_count = 0;
  std::uint8_t rnr_retry_count = 0;
  std::uint8_t ack_timeout = 0;  ///< 5-bit code
};

struct Id {
  IdNumber number = 0;
  ChannelNumber channel = 0;
  std::uint64_t cookie = 0;
  std::uint32_t user = 0;  ///< whose program has made it, or listens where its request came
  State state = State::idle;
  PortSpace space{};
  ibv_qp_type qp_type{};

  SocketAddress source;
  SocketAddress destination;
  std::optional<Service> port;  ///< taken in the port table
  bool ephemeral_port = false;  ///< the program has left it open
  /// The port that it is bound to, listens on, or came through: see PortListeners
  std::optional<std::uint16_t> attends;
  Binding binding;
  DeviceChoice devices;  ///< that it may use
  wire::Gid destination_gid;
  std::uint8_t hop_limit = 64;
  bool has_path = false;
  cm::Path path;
  std::uint8_t packet_life_time = 0;

  // options
  std::uint8_t tos = 0;
  bool reuse_address = false;
  std::optional<bool> family_only;         ///< what the program asked for
  std::optional<std::uint8_t> qp_timeout;  ///< RDMA_OPTION_ID_ACK_TIMEOUT

  // connection
  cm::Id connection;                             ///< 0: none
  iwcm::Id stream;                               ///< the same on an iWARP device
  bool stream_only = false;                      ///< iWARP: see ConnectionParameters
  std::optional<iwarp::SameHostPeer> same_host;  ///< iWARP: then messages do not go by TCP
  bool active = false;
  bool agreed = false;             ///< both sides' parameters are known
  std::uint32_t starting_psn = 0;  ///< what the peer's first packet has to bear
  std::uint32_t qpn = 0;
  bool srq = false;
  std::uint32_t qkey = 0;  ///< 0: not settled yet
  Agreement agreement;

  // events; the counts are those of IdEvents
  /// False: came with a request, has no cookie yet, and nobody wants to hear its events
  bool accepted = true;
  bool quiet = false;               ///< about to be destroyed: no more events
  IdNumber waits_at = 0;            ///< the listener in whose queue its request is, not fetched yet; 0: none
  std::uint32_t queued_events = 0;  ///< in the channel
  std::uint32_t fetched_events = 0;

  // listener
  std::uint32_t backlog = 0;
  int wanted_backlog = 0;                ///< what the program asked for
  bool without_streams = false;          ///< its devices of iWARP are not listened at: see Manager::listen()
  std::uint32_t unfetched_requests = 0;  ///< IdEvents counts them

  /// The address family binds only itself.
  bool binds_family_only() const { return family_only.value_or(source.family != Family::ipv6); }
  bool has_connection() const { return connection.value != 0 || stream.value != 0; }
  bool is_datagram() const { return qp_type == IBV_QPT_UD; }
  /// Addressed by GID and service ID: no IP addresses lead the private data.
  bool is_ib_addressed() const { return source.family == Family::ib; }
  /// The two sides use this Q_Key; 0: RDMA_UDP_QKEY, or what was settled. False: another was settled.
  bool settle_qkey(std::uint32_t wanted) {
    if (qkey != 0) return wanted == 0 || wanted == qkey;
    qkey = wanted != 0 ? wanted : RDMA_UDP_QKEY;
    return true;
  }
};

}  // namespace softrnic::cma
