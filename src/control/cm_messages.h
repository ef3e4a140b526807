// The messages of the connection manager between processes and softrnicd: what librdmacm asks, and the
// events.
//
// The daemon keeps the state of every communication id (IBTA chapter 12, annex A11); the library drives
// the queue pairs. The requests follow the calls of librdmacm. An event channel is an eventfd of the
// process that counts events as a semaphore; the daemon holds a duplicate, posts once for each event that
// it queues, and hands the event itself over when asked (GetEvent). It takes nothing from the count: it says
// how many events were withdrawn, and the library takes those.
#pragma once

#include <sys/socket.h>

#include <cstddef>
#include <cstdint>

#include "control/messages.h"
#include "control/stream_grant.h"

namespace softrnic::control {

inline constexpr std::size_t kCmPrivateData = 256;  ///< RDMA_MAX_PRIVATE_DATA
inline constexpr std::size_t kCmOptionSize = 256;   ///< longest value of rdma_set_option

/// Numbers of communication ids and multicast memberships: of one connection to the daemon, never 0.
using CmNumber = std::uint32_t;

/// struct rdma_conn_param, with the private data in place. Also what an event says of the peer's.
struct CmConnectionParameters {
  std::uint32_t qpn = 0;
  std::uint32_t qkey = 0;
  std::uint8_t private_data_length = 0;
  std::uint8_t responder_resources = 0;
  std::uint8_t initiator_depth = 0;
  std::uint8_t flow_control = 0;
  std::uint8_t retry_count = 0;
  std::uint8_t rnr_retry_count = 0;
  std::uint8_t srq = 0;
  std::uint8_t valid = 0;                     ///< 0: no parameters were given (rdma_accept(id, NULL))
  std::uint8_t stream_only = 0;               ///< iWARP: messages go by TCP, also to a peer on this host
  std::uint8_t private_data[UINT8_MAX] = {};  ///< as many as private_data_length can say
};

/// Of a connection (enhanced connection establishment): vendor and attribute modifier, carried and not read.
struct CmEce {
  std::uint32_t vendor = 0;
  std::uint32_t options = 0;
};

/// struct ibv_ah_attr of port 1.
struct CmAddressVector {
  std::uint8_t gid[16] = {};  ///< destination
  std::uint32_t flow_label = 0;
  std::uint16_t lid = 0;
  std::uint8_t sgid_index = 0;
  std::uint8_t hop_limit = 0;
  std::uint8_t traffic_class = 0;
  std::uint8_t sl = 0;
  std::uint8_t is_global = 1;
  std::uint8_t source_path_bits = 0;
  std::uint8_t static_rate = 0;  ///< enum ibv_rate
  std::uint8_t reserved[3] = {};
};

/// What is known of an id: its addresses, and once it is bound to a device that and the path.
struct CmIdRecord {
  sockaddr_storage source{};       ///< family 0: none yet; with the port
  sockaddr_storage destination{};  ///< family 0: none
  std::uint8_t source_gid[16] = {};
  std::uint8_t destination_gid[16] = {};
  std::uint64_t node_guid = 0;     ///< of the device, 0: not bound to one
  std::uint32_t device_index = 0;  ///< DeviceInfo::index; means something when node_guid is not 0
  std::uint32_t flow_label = 0;
  std::uint16_t pkey = 0;
  std::uint8_t port = 0;      ///< 1 once bound to a device
  std::uint8_t has_path = 0;  ///< the route is resolved: the fields below count
  std::uint8_t path_mtu = 0;  ///< enum ibv_mtu
  std::uint8_t rate = 0;      ///< enum ibv_rate
  std::uint8_t packet_life_time = 0;
  std::uint8_t hop_limit = 0;
  std::uint8_t traffic_class = 0;
  std::uint8_t sl = 0;
  std::uint16_t slid = 0;  ///< InfiniBand
  std::uint16_t dlid = 0;
  std::uint8_t reserved[2] = {};
};

/// A message about one id.
template <MessageType type>
struct AboutId {
  static constexpr MessageType kType = type;
  Header header;
  CmNumber id = 0;
  std::uint32_t reserved = 0;
};

/// With one fd: the channel's eventfd.
using CmOpenChannel = Bare<MessageType::cm_open_channel>;
struct CmChannelReply {
  static constexpr MessageType kType = MessageType::cm_channel;
  Header header;
  std::uint32_t channel = 0;
  std::uint32_t reserved = 0;
};
/// Its ids end, as if destroyed; events of it that were not fetched are dropped.
struct CmCloseChannel {
  static constexpr MessageType kType = MessageType::cm_close_channel;
  Header header;
  std::uint32_t channel = 0;
  std::uint32_t reserved = 0;
};

struct CmCreateId {
  static constexpr MessageType kType = MessageType::cm_create_id;
  Header header;
  std::uint64_t cookie = 0;  ///< the library's, comes back in events
  std::uint32_t channel = 0;
  std::uint16_t port_space = 0;  ///< enum rdma_port_space
  std::uint8_t qp_type = 0;      ///< enum ibv_qp_type
  std::uint8_t reserved = 0;
  char device[kDeviceNameSize] = {};  ///< the only one that the process sees; empty: it sees all
};
struct CmIdReply {
  static constexpr MessageType kType = MessageType::cm_id;
  Header header;
  CmNumber id = 0;
  std::uint32_t reserved = 0;
  CmIdRecord record;
};
/// reply: CmEventsReply
struct CmDestroyId {
  static constexpr MessageType kType = MessageType::cm_destroy_id;
  Header header;
  CmNumber id = 0;
  /// 1: not while events of it wait to be fetched, and no more come. For a program whose other thread may
  /// have been woken by one.
  std::uint32_t patient = 0;
};
using CmQueryId = AboutId<MessageType::cm_query_id>;  ///< reply: CmIdReply
using CmDisconnect = AboutId<MessageType::cm_disconnect>;
/// How many events of the id (or membership) the library has fetched: it waits until as many are
/// acknowledged.
struct CmEventsReply {
  static constexpr MessageType kType = MessageType::cm_events;
  Header header;
  std::uint32_t fetched = 0;
  std::uint32_t waiting = 0;    ///< CmDestroyId: so many wait to be fetched, so the id is still there
  std::uint32_t withdrawn = 0;  ///< see CmEventReply; of the channel where the id was before the request
  std::uint32_t reserved = 0;
};

/// rdma_bind_addr; reply: CmIdReply with the port that was given.
struct CmBind {
  static constexpr MessageType kType = MessageType::cm_bind;
  Header header;
  CmNumber id = 0;
  std::uint32_t reserved = 0;
  sockaddr_storage address{};
};
/// rdma_resolve_addr; events ADDR_RESOLVED or ADDR_ERROR. Reply: Done.
struct CmResolveAddress {
  static constexpr MessageType kType = MessageType::cm_resolve_address;
  Header header;
  CmNumber id = 0;
  std::uint32_t timeout_ms = 0;
  sockaddr_storage source{};  ///< family 0: choose
  sockaddr_storage destination{};
};
/// Events ROUTE_RESOLVED or ROUTE_ERROR. Reply: Done.
struct CmResolveRoute {
  static constexpr MessageType kType = MessageType::cm_resolve_route;
  Header header;
  CmNumber id = 0;
  std::uint32_t timeout_ms = 0;
};
struct CmConnect {
  static constexpr MessageType kType = MessageType::cm_connect;
  Header header;
  CmNumber id = 0;
  std::uint32_t reserved = 0;
  CmConnectionParameters parameters;
  CmEce ece;
};
struct CmListen {
  static constexpr MessageType kType = MessageType::cm_listen;
  Header header;
  CmNumber id = 0;
  std::int32_t backlog = 0;
};
/// rdma_accept. On the active side, after CONNECT_RESPONSE: sends the RTU. Reply: CmAcceptReply. On an iWARP
/// device ESTABLISHED follows when the process has its stream: CmNotify with IBV_EVENT_COMM_EST.
struct CmAccept {
  static constexpr MessageType kType = MessageType::cm_accept;
  Header header;
  std::uint64_t cookie = 0;  ///< the library's for the id that came with CONNECT_REQUEST
  CmNumber id = 0;
  std::uint32_t reserved = 0;
  CmConnectionParameters parameters;
  CmEce ece;
};
/// On an iWARP device with one fd: the connection's TCP socket. No fd, though `stream` has a token: the
/// process has no room for it.
struct CmAcceptReply {
  static constexpr MessageType kType = MessageType::cm_accepted;
  Header header;
  StreamGrant stream;  ///< token 0: there is none
};
/// TCP connections that the daemon had handed over have ended: the ids that they belong to are told
/// DISCONNECTED. Tokens that nobody knows are ignored.
struct CmStreamsEnded {
  static constexpr MessageType kType = MessageType::cm_streams_ended;
  static constexpr std::size_t kMost = 64;
  Header header;
  std::uint32_t count = 0;
  std::uint32_t reserved = 0;
  std::uint64_t tokens[kMost] = {};
};
/// The queue pair has the stream that came with CmAcceptReply: ESTABLISHED follows.
struct CmHasStream {
  static constexpr MessageType kType = MessageType::cm_has_stream;
  Header header;
  CmNumber id = 0;
  std::uint32_t reserved = 0;
};
struct CmReject {
  static constexpr MessageType kType = MessageType::cm_reject;
  Header header;
  CmNumber id = 0;
  std::uint8_t reason = 0;  ///< IBTA 12.6.7.2: 28 consumer reject, 35 vendor option (ECE) not supported
  std::uint8_t private_data_length = 0;
  std::uint8_t reserved[2] = {};
  std::uint8_t private_data[kCmPrivateData] = {};
};
/// rdma_init_qp_attr: the attributes and their mask for a transition to `state` (INIT, RTR or RTS).
struct CmInitQpAttributes {
  static constexpr MessageType kType = MessageType::cm_init_qp_attributes;
  Header header;
  CmNumber id = 0;
  std::uint32_t state = 0;  ///< enum ibv_qp_state
};
struct CmQpAttributesReply {
  static constexpr MessageType kType = MessageType::cm_qp_attributes;
  Header header;
  std::uint32_t mask = 0;  ///< enum ibv_qp_attr_mask
  std::uint32_t state = 0;
  std::uint32_t path_mtu = 0;  ///< enum ibv_mtu
  std::uint32_t qkey = 0;
  std::uint32_t rq_psn = 0;
  std::uint32_t sq_psn = 0;
  std::uint32_t dest_qpn = 0;
  std::uint32_t access_flags = 0;
  CmAddressVector address;
  std::uint16_t pkey_index = 0;
  std::uint8_t max_rd_atomic = 0;
  std::uint8_t max_dest_rd_atomic = 0;
  std::uint8_t min_rnr_timer = 0;
  std::uint8_t port = 0;
  std::uint8_t timeout = 0;
  std::uint8_t retry_count = 0;
  std::uint8_t rnr_retry = 0;
  std::uint8_t reserved[7] = {};
};
/// rdma_notify.
struct CmNotify {
  static constexpr MessageType kType = MessageType::cm_notify;
  Header header;
  CmNumber id = 0;
  std::uint32_t event = 0;  ///< enum ibv_event_type
};
struct CmSetOption {
  static constexpr MessageType kType = MessageType::cm_set_option;
  Header header;
  CmNumber id = 0;
  std::uint32_t level = 0;   ///< RDMA_OPTION_ID, RDMA_OPTION_IB
  std::uint32_t option = 0;  ///< RDMA_OPTION_ID_TOS and so on
  std::uint32_t length = 0;  ///< bytes of `value`
  std::uint8_t value[kCmOptionSize] = {};
};
/// rdma_join_multicast_ex; events MULTICAST_JOIN or MULTICAST_ERROR. Reply: CmIdReply with
/// the membership's number.
struct CmJoinMulticast {
  static constexpr MessageType kType = MessageType::cm_join_multicast;
  Header header;
  std::uint64_t cookie = 0;
  CmNumber id = 0;
  std::uint32_t flags = 0;  ///< enum rdma_cm_mc_join_flags
  sockaddr_storage address{};
};
/// Reply: CmEventsReply.
struct CmLeaveMulticast {
  static constexpr MessageType kType = MessageType::cm_leave_multicast;
  Header header;
  CmNumber membership = 0;
  std::uint32_t reserved = 0;
};
/// rdma_migrate_id. Events of the id that nobody has fetched move along. Reply: CmEventsReply.
struct CmMigrateId {
  static constexpr MessageType kType = MessageType::cm_migrate_id;
  Header header;
  CmNumber id = 0;
  std::uint32_t channel = 0;  ///< the new one
};

/// rdma_write_cm_event, and what else the library tells the program by an event. Reply: Done.
struct CmWriteEvent {
  static constexpr MessageType kType = MessageType::cm_write_event;
  Header header;
  std::uint64_t argument = 0;
  CmNumber id = 0;
  std::uint32_t event = 0;  ///< enum rdma_cm_event_type, above TIMEWAIT_EXIT
  std::int32_t status = 0;
  std::uint32_t reserved = 0;
};

/// The next event of a channel. Reply: CmEventReply; with one fd, as CmAcceptReply, when iWARP's active
/// side is told ESTABLISHED.
struct CmGetEvent {
  static constexpr MessageType kType = MessageType::cm_get_event;
  Header header;
  std::uint32_t channel = 0;
  std::uint32_t reserved = 0;
};
struct CmEventReply {
  static constexpr MessageType kType = MessageType::cm_event;
  Header header;
  std::uint32_t present = 0;  ///< 0: the channel has no event, nothing else but `withdrawn` counts
  std::uint32_t event = 0;    ///< enum rdma_cm_event_type
  std::int32_t status = 0;    ///< as rdma_cm_event has it: negative errno, or the reject reason
  CmNumber id = 0;            ///< CONNECT_REQUEST: the new id
  /// Of the id, of the membership (multicast), or of the listener (CONNECT_REQUEST)
  std::uint64_t cookie = 0;
  std::uint64_t argument = 0;  ///< of an event that was written
  CmNumber membership = 0;     ///< multicast events
  std::uint32_t reason = 0;    ///< ReasonId when the event is a failure, else 0
  std::uint64_t figures[4] = {};
  CmIdRecord record;                  ///< of `id`
  CmConnectionParameters parameters;  ///< connection events; in UD events: qpn, qkey and private data
  CmAddressVector address;            ///< UD: ESTABLISHED, MULTICAST_JOIN
  CmEce ece;
  /// So many events of the channel were posted and have gone unfetched, since it was opened; wraps
  std::uint32_t withdrawn = 0;
  StreamGrant stream;  ///< token 0: there is none
};

/// For `softrnic resource show cm_id`: the id with the lowest key above `after`, of any process.
struct CmNextId {
  static constexpr MessageType kType = MessageType::cm_next_id;
  Header header;
  std::uint64_t after = 0;
};
struct CmIdListing {
  static constexpr MessageType kType = MessageType::cm_id_listing;
  Header header;
  std::uint64_t key = 0;  ///< 0: there is none
  std::int32_t pid = 0;
  std::uint32_t local_qpn = 0;
  std::uint32_t remote_qpn = 0;
  std::uint16_t port_space = 0;
  std::uint8_t qp_type = 0;
  std::uint8_t reserved = 0;
  char state[24] = {};  ///< rdma(8): "LISTEN", "CONNECT", "DISCONNECT", …
  char comm[kCommSize] = {};
  char device[kDeviceNameSize] = {};
  CmIdRecord record;
};

static_assert(sizeof(CmConnectionParameters) == 272 && sizeof(CmAddressVector) == 32);
static_assert(sizeof(CmEventReply) <= kMaxMessage);

}  // namespace softrnic::control
