// The messages for management datagrams between processes and softrnicd: what libibumad asks, and what comes
// for its agents.
//
// A program opens a port and gets one end of a SOCK_SEQPACKET socket, which is the descriptor that libibumad
// hands out: it is readable when a MAD has come, and each MAD is one message (MadReceived). All else goes by
// requests on the connection to the daemon, so that each has an answer with its errno. The port is closed by
// MadClosePort, by the end of its socket, and by that of the connection.
//
// A message of RMPP (IBTA 13.6) may be longer than a MAD: it is one here, with all headers once and then the
// data of all segments, and travels in a memfd that nobody can shrink. The daemon cuts and joins segments.
//
// Who may: devices are shown to all, as the files in /sys are. Ports are opened by programs of the daemon's
// own user, and root's. Those are all programs of a user's own daemon; of one that serves all users
// (softrnicd --system) it is root alone, to whom the kernel's /dev/infiniband/umad* belong, too: whoever
// sends a MAD may set up the fabric anew.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/bytes.h"
#include "base/expected.h"
#include "base/unique_fd.h"
#include "control/mad_ca.h"
#include "control/messages.h"
#include "mad/agents.h"

namespace softrnic::control {

inline constexpr std::size_t kMostMadBytes = 16 << 20;  ///< of a message of RMPP
inline constexpr std::size_t kMadTextSize = 40;         ///< ca_type of umad_ca_t
inline constexpr std::size_t kMadPathSize = 256;

/// Number of an open port: of one connection to the daemon, never 0.
using MadPortNumber = std::uint32_t;

struct MadPortRecord {
  std::uint64_t gid_prefix = 0;
  std::uint64_t port_guid = 0;
  std::uint32_t number = 0;
  std::uint32_t rate = 0;  ///< Gb/s
  std::uint32_t capability_mask = 0;
  std::uint16_t lid = 0;
  std::uint16_t sm_lid = 0;
  std::uint8_t lmc = 0;
  std::uint8_t sm_sl = 0;
  std::uint8_t state = 0;
  std::uint8_t physical_state = 0;
  std::uint8_t link_layer = 0;  ///< IBV_LINK_LAYER_*
  std::uint8_t reserved = 0;
  std::uint16_t pkey_count = 0;  ///< at most kMadMostPkeys
  std::uint16_t pkeys[kMadMostPkeys] = {};
};
struct MadCaRecord {
  std::uint64_t node_guid = 0;
  std::uint64_t system_guid = 0;
  std::uint32_t node_type = 0;   ///< enum ibv_node_type
  std::uint32_t port_count = 0;  ///< at most kMadPortsOfCa
  char name[kDeviceNameSize] = {};
  char firmware[kMadTextSize] = {};
  char hardware[kMadTextSize] = {};
  char type[kMadTextSize] = {};
  MadPortRecord ports[kMadPortsOfCa];
};

using MadListCas = Bare<MessageType::mad_list_cas>;
struct MadCasReply {
  static constexpr MessageType kType = MessageType::mad_cas;
  Header header;
  std::uint32_t count = 0;  ///< at most kMaxDevices
  std::uint32_t reserved = 0;
  char names[kMaxDevices][kDeviceNameSize] = {};
};

/// A message about a port by the name of its CA.
template <MessageType type>
struct AboutMadPort {
  static constexpr MessageType kType = type;
  Header header;
  char ca[kDeviceNameSize] = {};
  std::uint32_t port = 0;
  std::uint32_t reserved = 0;
};
using MadQueryCa = AboutMadPort<MessageType::mad_query_ca>;  ///< the whole CA: `port` does not count
struct MadCaReply {
  static constexpr MessageType kType = MessageType::mad_ca;
  Header header;
  MadCaRecord ca;
};

/// The file that makes the port's capability bit IsSM set as long as a program has it open: the daemon makes
/// it and watches it (daemon/issm_watch.h). Of a port without QP0 there is none under that path.
using MadIssmPath = AboutMadPort<MessageType::mad_issm_path>;
struct MadPathReply {
  static constexpr MessageType kType = MessageType::mad_path;
  Header header;
  char path[kMadPathSize] = {};
};

using MadOpenPort = AboutMadPort<MessageType::mad_open_port>;
/// With one fd: the socket on which what is received comes.
struct MadPortReply {
  static constexpr MessageType kType = MessageType::mad_port;
  Header header;
  MadPortNumber port = 0;
  std::uint32_t reserved = 0;
};
struct MadClosePort {
  static constexpr MessageType kType = MessageType::mad_close_port;
  Header header;
  MadPortNumber port = 0;
  std::uint32_t reserved = 0;
};

/// See mad::Registration.
struct MadRegisterAgent {
  static constexpr MessageType kType = MessageType::mad_register_agent;
  Header header;
  MadPortNumber port = 0;
  std::uint32_t oui = 0;
  std::uint64_t methods[2] = {};  ///< bit n of methods[n / 64]: method n
  std::uint8_t queue = 0;         ///< mad::Queue
  std::uint8_t management_class = 0;
  std::uint8_t class_version = 0;
  std::uint8_t rmpp_version = 0;
  std::uint8_t does_rmpp_itself = 0;
  std::uint8_t reserved[3] = {};
};
struct MadAgentReply {
  static constexpr MessageType kType = MessageType::mad_agent;
  Header header;
  std::uint32_t agent = 0;
  std::uint32_t reserved = 0;
};
struct MadUnregisterAgent {
  static constexpr MessageType kType = MessageType::mad_unregister_agent;
  Header header;
  MadPortNumber port = 0;
  std::uint32_t agent = 0;
};

/// See mad::Peer. Numbers in host order.
struct MadAddress {
  std::uint8_t gid[16] = {};
  std::uint32_t qpn = 0;
  std::uint32_t qkey = 0;
  std::uint32_t flow_label = 0;
  std::uint16_t lid = 0;
  std::uint16_t pkey_index = 0;
  std::uint8_t sl = 0;
  std::uint8_t path_bits = 0;
  std::uint8_t has_grh = 0;
  std::uint8_t gid_index = 0;
  std::uint8_t hop_limit = 0;
  std::uint8_t traffic_class = 0;
  std::uint8_t reserved[2] = {};
};
/// A message of at most 256 bytes, or the length of one that comes along as a memfd.
struct MadBody {
  std::uint32_t length = 0;
  std::uint32_t reserved = 0;
  std::byte bytes[mad::kMadBytes] = {};
};
struct MadSend {
  static constexpr MessageType kType = MessageType::mad_send;
  Header header;
  MadPortNumber port = 0;
  std::uint32_t agent = 0;
  std::uint32_t timeout_ms = 0;
  std::uint32_t retries = 0;
  MadAddress to;
  MadBody body;
};
struct MadReceived {
  static constexpr MessageType kType = MessageType::mad_received;
  Header header;
  std::uint32_t agent = 0;
  std::int32_t status = 0;       ///< 0, or ETIMEDOUT: a request of the agent's own comes back
  std::uint32_t timeout_ms = 0;  ///< of that request
  std::uint32_t retries = 0;
  MadAddress from;
  MadBody body;
};

static_assert(sizeof(MadAddress) == 40 && sizeof(MadBody) == 264 && sizeof(MadSend) == 336);
static_assert(sizeof(MadReceived) == 336 && sizeof(MadCaReply) <= kMaxMessage);

MadCaRecord to_record(const MadCa& ca);
/// Nothing when a count, a number or a text is out of bounds.
std::optional<MadCa> from_record(const MadCaRecord& record);

MadAddress to_record(const mad::Peer& peer);
mad::Peer from_record(const MadAddress& address);

/// Nothing when the queue is neither QP0 nor QP1.
std::optional<mad::Registration> registration_in(const MadRegisterAgent& message);

/// Puts a message of at most kMostMadBytes there. The descriptor that goes along, if one must; or a positive
/// errno.
Expected<UniqueFd, int> put_message(MadBody& body, Bytes message);
/// The message that came so; `fd` -1: none came. Nothing when it is too long, or not whole.
std::optional<std::vector<std::byte>> message_in(const MadBody& body, int fd);

}  // namespace softrnic::control
