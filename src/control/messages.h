// The messages between processes and softrnicd: fixed layouts, one message a datagram of a SOCK_SEQPACKET
// socket.
//
// Both ends run on one host, so numbers are in host order. Every message begins with a Header whose layout
// never changes, so that two versions can at least tell each other that they differ. A message is taken only
// when its size, magic, version and type are exactly those of the layout asked for; texts end with a zero
// inside their array.
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include "base/bytes.h"
#include "base/descriptor_name.h"
#include "base/reason.h"
#include "device/device_info.h"

namespace softrnic::control {

inline constexpr std::uint32_t kMessageMagic = 0x636e'7273;  ///< "srnc"
/// Of the messages between a daemon and its clients, which may be of different installations.
inline constexpr std::uint16_t kProtocolVersion = 13;
inline constexpr std::size_t kMaxMessage = 32768;  ///< bytes; nothing longer is ever read
inline constexpr std::size_t kMaxDevices = 32;
inline constexpr std::size_t kMaxGids = 32;
inline constexpr std::size_t kMaxPkeys = 64;
inline constexpr std::size_t kDeviceNameSize = 64;  ///< IB_DEVICE_NAME_MAX, ending zero included
inline constexpr std::size_t kNetdevNameSize = 16;  ///< IFNAMSIZ
inline constexpr std::size_t kCommSize = 16;        ///< TASK_COMM_LEN
inline constexpr std::size_t kTextSize = 512;
inline constexpr std::size_t kMaxSharedLanes = 16;  ///< of one process

enum class MessageType : std::uint16_t {
  // requests
  hello = 1,
  list_devices,
  take_lane,
  give_back_lane,
  register_page,
  add_link,
  delete_link,
  next_page,
  shutdown,
  status,
  hold_devices,
  share_memory,
  find_local_peer,
  reclaim_lane,
  settled,
  show_namespace,
  // requests of the connection manager, see cm_messages.h
  cm_open_channel = 0x40,
  cm_close_channel,
  cm_create_id,
  cm_destroy_id,
  cm_query_id,
  cm_bind,
  cm_resolve_address,
  cm_resolve_route,
  cm_connect,
  cm_listen,
  cm_accept,
  cm_reject,
  cm_disconnect,
  cm_init_qp_attributes,
  cm_notify,
  cm_set_option,
  cm_join_multicast,
  cm_leave_multicast,
  cm_migrate_id,
  cm_get_event,
  cm_next_id,
  cm_write_event,
  cm_streams_ended,
  cm_has_stream,
  // requests for management datagrams, see mad_messages.h
  mad_list_cas = 0x80,
  mad_query_ca,
  mad_issm_path,
  mad_open_port,
  mad_close_port,
  mad_register_agent,
  mad_unregister_agent,
  mad_send,
  // requests to the process of a fabric, see fabric_commands.h
  fabric_command = 0xa0,
  // replies
  welcome = 0x100,
  done,
  error,
  devices,
  lane,
  page,
  daemon_status,
  locks,
  local_peer,
  cm_channel = 0x140,
  cm_id,
  cm_events,
  cm_qp_attributes,
  cm_event,
  cm_id_listing,
  cm_accepted,
  mad_cas = 0x180,
  mad_ca,
  mad_path,
  mad_port,
  mad_agent,
  fabric_answer = 0x1a0,
  // from the daemon, on the notification socket
  notification = 0x200,
  farewell,
  // from the daemon, on the socket of an open port
  mad_received = 0x280,
};

struct Header {
  std::uint32_t magic = kMessageMagic;
  std::uint16_t version = kProtocolVersion;
  MessageType type{};
  std::uint32_t size = 0;    ///< of the whole message, this header included
  std::uint32_t serial = 0;  ///< a reply carries that of its request
};

/// A message that is a header and nothing else.
template <MessageType type>
struct Bare {
  static constexpr MessageType kType = type;
  Header header;
};

/// First message of every connection. Fd in the reply (Welcome): the notification socket.
struct Hello {
  static constexpr MessageType kType = MessageType::hello;
  Header header;
  std::int32_t pid = 0;
  char comm[kCommSize] = {};
  std::uint32_t reserved = 0;
};
struct Welcome {
  static constexpr MessageType kType = MessageType::welcome;
  Header header;
  std::int32_t pid = 0;  ///< the daemon's
  std::uint32_t reserved = 0;
};

using ListDevices = Bare<MessageType::list_devices>;
/// From now until the connection ends, soft0 stays on its netdev: the client has a device open.
using HoldDevices = Bare<MessageType::hold_devices>;
using TakeLane = Bare<MessageType::take_lane>;
using RegisterPage = Bare<MessageType::register_page>;  ///< with one fd: the memfd
using Shutdown = Bare<MessageType::shutdown>;
using StatusRequest = Bare<MessageType::status>;
using Done = Bare<MessageType::done>;

/// A message about one lane.
template <MessageType type>
struct AboutLane {
  static constexpr MessageType kType = type;
  Header header;
  std::uint32_t lane = 0;
  std::uint32_t reserved = 0;
};
using GiveBackLane = AboutLane<MessageType::give_back_lane>;
/// With one fd: the socket of a lane that was taken over from an earlier daemon, which shows that the client
/// holds the lane. From then on the lane is the client's as if it had taken it from this daemon.
using ReclaimLane = AboutLane<MessageType::reclaim_lane>;
/// The client has told all that the daemon has to know of it: its listeners, too.
using Settled = Bare<MessageType::settled>;
/// With one fd: /proc/self/ns/user or pid, for a daemon that may not look there (of all users).
using ShowNamespace = Bare<MessageType::show_namespace>;
/// Names what local peers may take from this process (samehost/foreign_descriptor.h), in place of what was
/// named before. The daemon never has it: who wants it needs the kernel's leave to attach to this process.
struct ShareMemory {
  static constexpr MessageType kType = MessageType::share_memory;
  struct Doorbell {
    std::uint32_t lane = 0;  ///< one of this client's
    std::uint32_t reserved = 0;
    DescriptorName doorbell;  ///< wakes its holder
  };
  Header header;
  std::int32_t pid = 0;     ///< as the process sees itself
  std::uint32_t count = 0;  ///< of doorbells, at most kMaxSharedLanes
  DescriptorName memory;    ///< a memfd of DirectMemory, see samehost/direct_layout.h
  DescriptorName inbox;     ///< one of InboxMemory
  Doorbell doorbells[kMaxSharedLanes];
};
/// Asks where what the holder of a lane shares is to be had.
using FindLocalPeer = AboutLane<MessageType::find_local_peer>;
/// Fd: the locks of atomic operations (atomic_locks.h) of all processes that may attach to each other; no fd:
/// there are none.
using LocksReply = Bare<MessageType::locks>;
struct LocalPeerReply {
  static constexpr MessageType kType = MessageType::local_peer;
  Header header;
  std::int32_t pid = 0;  ///< as the local peer sees itself; 0: it shares nothing
  std::uint32_t reserved = 0;
  DescriptorName memory;
  DescriptorName inbox;
  DescriptorName doorbell;
};
struct AddLink {
  static constexpr MessageType kType = MessageType::add_link;
  Header header;
  char name[kDeviceNameSize] = {};
  char netdev[kNetdevNameSize] = {};
  std::uint32_t kind = 0;  ///< device::Kind
  std::uint32_t mpa = 0;   ///< see mpa_bits()
};
struct DeleteLink {
  static constexpr MessageType kType = MessageType::delete_link;
  Header header;
  char name[kDeviceNameSize] = {};
};
/// Asks for the control page with the lowest number above `after`.
struct NextPage {
  static constexpr MessageType kType = MessageType::next_page;
  Header header;
  std::uint64_t after = 0;
};

/// A refused request, see control/error.h. The text is made by the daemon, whose table of reasons may be
/// another version's.
struct ErrorReply {
  static constexpr MessageType kType = MessageType::error;
  Header header;
  std::int32_t error = 0;  ///< positive errno
  std::uint32_t reason = 0;
  std::uint64_t figures[4] = {};
  char text[kTextSize] = {};
};
/// Fd: the lane's socket: UDP, or one of FabricMessages (link/fabric_message.h).
struct LaneReply {
  static constexpr MessageType kType = MessageType::lane;
  Header header;
  std::uint32_t lane = 0;         ///< 1 … 254
  std::uint32_t first_index = 0;  ///< 1 … 65535, where the process begins to hand out QP indices
  std::uint32_t dual_stack = 0;   ///< 0: the host has no IPv6 and the socket is AF_INET
  std::uint32_t fabric = 0;       ///< 1: the lane is one of an emulated host
};
/// Fd: the page, read-only; no fd and number 0: there is none.
struct PageReply {
  static constexpr MessageType kType = MessageType::page;
  Header header;
  std::uint64_t number = 0;
  std::uint64_t ended_ns = 0;  ///< CLOCK_REALTIME when the process went, 0: it lives
  std::int32_t pid = 0;
  std::uint32_t reserved = 0;
  char comm[kCommSize] = {};
};
struct StatusReply {
  static constexpr MessageType kType = MessageType::daemon_status;
  Header header;
  std::int32_t pid = 0;
  std::uint32_t clients = 0;
  std::uint32_t lanes_used = 0;
  std::uint32_t lanes_made = 0;
  std::uint32_t dead_pages = 0;
  std::uint32_t bad_messages = 0;
  std::uint32_t idle_seconds = 0;    ///< how long the daemon stays without a client; 0: for ever
  std::uint32_t receive_buffer = 0;  ///< bytes of a lane's socket buffer
  std::uint32_t all_users = 0;       ///< 1: it serves all users of the network namespace
  std::uint32_t user = 0;            ///< that it runs as
};

struct GidRecord {
  std::uint8_t gid[16] = {};
  std::uint32_t interface_index = 0;
};
/// See device::InfinibandPort.
struct InfinibandRecord {
  std::uint8_t state = 0;
  std::uint8_t physical_state = 0;
  std::uint8_t active_width = 0;
  std::uint8_t active_speed = 0;
  std::uint8_t lmc = 0;
  std::uint8_t sm_sl = 0;
  std::uint8_t data_vls = 0;
  std::uint8_t subnet_timeout = 0;
  std::uint16_t lid = 0;
  std::uint16_t sm_lid = 0;
  std::uint32_t capabilities = 0;
  std::uint32_t reregistrations = 0;
  std::uint32_t pkey_count = 0;  ///< at most kMaxPkeys
  std::uint16_t pkeys[kMaxPkeys] = {};
};
struct DeviceRecord {
  std::uint64_t guid = 0;
  std::uint64_t speed_mbps = 0;
  std::uint32_t index = 0;
  std::uint32_t interface_index = 0;
  std::uint32_t up = 0;
  std::uint32_t netdev_mtu = 0;
  std::uint32_t active_mtu = 0;
  std::uint32_t gid_count = 0;  ///< at most kMaxGids
  std::uint32_t kind = 0;       ///< device::Kind
  std::uint32_t mpa = 0;        ///< see mpa_bits()
  char name[kDeviceNameSize] = {};
  char netdev[kNetdevNameSize] = {};
  GidRecord gids[kMaxGids];
  InfinibandRecord infiniband;
};
struct DevicesReply {
  static constexpr MessageType kType = MessageType::devices;
  Header header;
  std::uint32_t count = 0;  ///< at most kMaxDevices
  std::uint32_t reserved = 0;
  DeviceRecord devices[kMaxDevices];
};

enum class Change : std::uint32_t { device_changed = 1, device_added, device_removed };
struct NotificationMessage {
  static constexpr MessageType kType = MessageType::notification;
  Header header;
  Change change{};
  std::uint32_t reserved = 0;
  DeviceRecord device;
};

/// The daemon's last word where it ends because it was told to, or is idle: nobody is to
/// start the next one for that.
using Farewell = Bare<MessageType::farewell>;

static_assert(sizeof(Header) == 16 && sizeof(Hello) == 40 && sizeof(ErrorReply) == 568);
static_assert(sizeof(DeviceRecord) == 920 && sizeof(DevicesReply) <= kMaxMessage);

/// A message of type T ready to send.
template <typename T>
T make_message(std::uint32_t serial = 0) {
  T message{};
  message.header.type = T::kType;
  message.header.size = sizeof(T);
  message.header.serial = serial;
  return message;
}

template <typename T>
Bytes bytes_of(const T& message) {
  static_assert(std::is_trivially_copyable_v<T>);
  return std::as_bytes(std::span(&message, 1));
}

/// The header of a datagram whose size and magic are right, of whatever version and type.
std::optional<Header> peek_header(Bytes datagram);

/// The message in `datagram`, when it is exactly a T of this version.
template <typename T>
std::optional<T> parse_message(Bytes datagram) {
  static_assert(std::is_trivially_copyable_v<T>);
  const std::optional<Header> header = peek_header(datagram);
  if (!header || header->version != kProtocolVersion || header->type != T::kType ||
      datagram.size() != sizeof(T))
    return std::nullopt;
  T message;
  std::memcpy(&message, datagram.data(), sizeof message);
  return message;
}

/// The text in a zero-ended array; nothing when the zero is missing.
std::optional<std::string_view> text_in(std::span<const char> field);
/// Copies `text` and its ending zero, cutting it when it is too long. False when it was cut.
bool put_text(std::span<char> field, std::string_view text);

inline constexpr std::uint32_t kMpaCrc = 1;
inline constexpr std::uint32_t kMpaMarkers = 2;
std::uint32_t mpa_bits(wire::MpaDemands demands);
/// Nothing where other bits are set.
std::optional<wire::MpaDemands> mpa_demands(std::uint32_t bits);

DeviceRecord to_record(const device::DeviceInfo& device);
/// Nothing when a count or a text is out of bounds.
std::optional<device::DeviceInfo> from_record(const DeviceRecord& record);

}  // namespace softrnic::control
