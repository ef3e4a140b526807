// The vocabulary of the InfiniBand transport: work requests, completions, attributes.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>

#include "base/bytes.h"
#include "base/reason.h"
#include "base/strong.h"
#include "base/time.h"
#include "transport/ib/counters.h"
#include "wire/gid.h"
#include "wire/headers.h"

namespace softrnic::ib {

/// XRC (IBTA A14) has a half of a connection in each: an initiator sends requests, a target takes them.
enum class QpType : std::uint8_t { rc, uc, ud, xrc_initiator, xrc_target, raw_packet };
/// The number of enum ibv_qp_type, for explanations.
constexpr std::uint32_t verbs_number(QpType type) {
  constexpr std::uint8_t kNumbers[] = {2, 3, 4, 9, 10, 8};
  return kNumbers[static_cast<std::size_t>(type)];
}

/// Operations of a send queue. The numbers are those of enum ibv_wr_opcode, so that translation is a cast.
enum class SendOp : std::uint8_t {
  write,
  write_with_imm,
  send,
  send_with_imm,
  read,
  compare_swap,
  fetch_add,
  local_invalidate,
  bind_window,
  send_with_invalidate,
  tso,  ///< raw packets: a TCP segment that is longer than a frame
  flush = 14,
  atomic_write,
};
inline constexpr std::size_t kSendOps = static_cast<std::size_t>(SendOp::atomic_write) + 1;

/// What is answered with the word as it was before.
constexpr bool is_atomic(SendOp op) { return op == SendOp::compare_swap || op == SendOp::fetch_add; }
/// What is answered with a READ response of no bytes (memory placement extensions, IBTA A19).
constexpr bool is_answered_empty(SendOp op) { return op == SendOp::flush || op == SendOp::atomic_write; }
/// What is answered by a response of its own, and takes up the resources that max_rd_atomic counts.
constexpr bool is_answered(SendOp op) { return op == SendOp::read || is_atomic(op) || is_answered_empty(op); }
/// What takes a receive of the peer.
constexpr bool takes_receive(SendOp op) {
  return op == SendOp::send || op == SendOp::send_with_imm || op == SendOp::send_with_invalidate ||
         op == SendOp::write_with_imm;
}

/// What changes a memory window of this side and sends nothing.
constexpr bool is_local(SendOp op) { return op == SendOp::local_invalidate || op == SendOp::bind_window; }

/// How a work request ended. The order is that of enum ibv_wc_status.
enum class Status : std::uint8_t {
  success,
  local_length,
  local_qp_operation,
  local_eec,
  local_protection,
  flushed,
  window_bind,
  bad_response,
  local_access,
  remote_invalid_request,
  remote_access,
  remote_operation,
  retry_exceeded,
  rnr_exceeded,
};

/// One scatter/gather element.
struct Sge {
  std::uint64_t address = 0;
  std::uint32_t length = 0;
  MemoryKey lkey;
};

/// Where packets go and come from: what an address handle resolves to.
struct AddressVector {
  wire::Gid source;
  wire::Gid destination;
  std::uint8_t source_gid_index = 0;
  std::uint8_t traffic_class = 0;
  std::uint8_t hop_limit = 64;
  std::uint8_t service_level = 0;
  std::uint32_t flow_label = 0;   ///< 0: the source port comes from the QPNs
  std::uint16_t source_port = 0;  ///< UDP source port, chosen by the adapter when the vector is made
  /// Netdev to leave by; 0: what holds `source`, or the routing table, decides. InfiniBand: the port
  std::uint32_t interface_index = 0;
  // InfiniBand, where `destination` is Gid::of_lid() if there is no GRH
  wire::Lid dlid;
  std::uint8_t source_path_bits = 0;  ///< added to the port's LID
};

/// A send work request as it lies in the send queue. Its SGEs or inline bytes lie behind it in the ring.
struct SendWqe {
  std::uint64_t wr_id = 0;
  SendOp op{};
  bool signaled = false;
  bool solicited = false;
  bool fence = false;
  bool is_inline = false;  ///< payload is in inline_data, not in sges
  /// Posted by the host itself, for a receive of the program: a READ writes where receives do (LocalUse), and
  /// nobody counts it
  bool by_host = false;
  bool fills_checksums = false;  ///< raw packets: those of IP, TCP and UDP are computed
  std::uint16_t sge_count = 0;
  std::uint16_t header_bytes = 0;    ///< tso: they lie before the payload
  std::uint16_t segment_bytes = 0;   ///< tso: MSS
  std::uint32_t length = 0;          ///< bytes of the message
  std::uint32_t immediate = 0;       ///< host order; or the key to invalidate; bind_window: the region's key
  std::uint64_t remote_address = 0;  ///< bind_window: where the window begins
  MemoryKey rkey;                    ///< local_invalidate, bind_window: of the window
  std::uint32_t remote_srqn = 0;     ///< XRC: number of the SRQ that it is for
  std::uint64_t compare = 0;         ///< compare_swap; bind_window, flush: length
  std::uint64_t swap_or_add = 0;     ///< compare_swap, fetch_add; bind_window: access; flush: FETH
  // UD
  AddressVector address;  ///< copied at post time, as an AH may be destroyed early
  Qpn remote_qpn;
  std::uint32_t remote_qkey = 0;
};

/// A receive work request handed to the transport for one message. `sges` stays valid until the completion.
struct RecvWqe {
  std::uint64_t wr_id = 0;
  std::span<const Sge> sges;
  std::uint64_t length = 0;  ///< sum of the SGEs
  std::uint32_t skipped =
      0;  ///< bytes at the beginning of the message that go nowhere; the rest fills the SGEs
};

/// A finished send.
struct SendDone {
  std::uint64_t wr_id = 0;
  SendOp op{};
  Status status{};
  bool signaled = false;     ///< a failed or flushed one is always reported
  std::uint32_t length = 0;  ///< bytes, for READ and atomics
  Reason reason;             ///< of a failure
  bool by_host = false;      ///< see SendWqe
};

/// A finished receive.
struct RecvDone {
  std::uint64_t wr_id = 0;
  Status status{};
  bool is_write = false;  ///< WRITE_WITH_IMM
  bool has_immediate = false;
  bool has_invalidate = false;
  bool has_grh = false;
  bool solicited = false;
  std::uint32_t immediate = 0;     ///< host order; or the invalidated key
  std::uint32_t length = 0;        ///< bytes received; UD: GRH included
  Qpn source;                      ///< UD: the sender
  std::uint8_t service_level = 0;  ///< UD: of InfiniBand; else see network_header_code()
  // UD of InfiniBand: of the packet
  wire::Lid slid;
  wire::Lid dlid;
  // of a raw packet
  bool checksums_ok = false;   ///< of its IP and TCP or UDP headers
  std::uint16_t vlan = 0;      ///< TCI of the tag that was taken out of it
  std::uint32_t flow_tag = 0;  ///< of the flow rule that it came by
  Reason reason;
};

/// What completion counters can be attached to. The order is that of the bits of enum
/// ibv_qp_attach_comp_cntr_op; the remote ones are the peer's requests.
enum class Counted : std::uint8_t { send, receive, read, remote_read, write, remote_write, count_ };
constexpr std::uint8_t bit_of(Counted operation) {
  return static_cast<std::uint8_t>(1U << static_cast<unsigned>(operation));
}
/// What a work request of the send queue is counted as; nothing: it is not.
constexpr std::optional<Counted> counted_as(SendOp op) {
  switch (op) {
    case SendOp::write:
    case SendOp::write_with_imm:
      return Counted::write;
    case SendOp::send:
    case SendOp::send_with_imm:
    case SendOp::send_with_invalidate:
    case SendOp::tso:
      return Counted::send;
    case SendOp::read:
      return Counted::read;
    default:
      return std::nullopt;
  }
}

/// What befalls a QP besides completions (the affiliated asynchronous events of IBTA 11.6.3).
enum class QpEvent : std::uint8_t {
  communication_established,  ///< a packet came in RTR
  fatal,                      ///< local trouble; the QP is in ERR
  request_error,              ///< invalid request from the peer; the QP is in ERR
  access_error,               ///< access violation by the peer; the QP is in ERR
  send_queue_drained,
  last_wqe_reached,
  path_migrated,         ///< the endpoint has gone to its alternate path
  path_migration_error,  ///< the peer asks it to, by a path that is not the alternate one
};

/// States of automatic path migration (IBTA 17.2.8). The numbers are those of enum ibv_mig_state.
enum class Migration : std::uint8_t {
  migrated,  ///< one path, also before any other was known; packets bear MigReq
  rearm,     ///< an alternate path is loaded here; whether the peer has one as well is not known
  armed,     ///< and there too: either side may go there, and the other follows
};

/// Where an endpoint may go when its path is silent.
struct AlternatePath {
  AddressVector path;
  std::uint8_t timeout = 0;  ///< code as Attributes::timeout
  bool loaded = false;
};

/// Accesses to memory, bit-compatible with enum ibv_access_flags.
enum Access : std::uint32_t {
  kLocalWrite = 1,
  kRemoteWrite = 2,
  kRemoteRead = 4,
  kRemoteAtomic = 8,
  kFlushGlobal = 1 << 8,      ///< FLUSH of what was written, so that all of this host sees it
  kFlushPersistent = 1 << 9,  ///< and so that it outlives a loss of power
};

/// Everything ibv_modify_qp sets that the transport acts on.
struct Attributes {
  Qpn local;
  Qpn remote;
  AddressVector path;
  std::uint32_t path_mtu = 1024;  ///< bytes: 256, 512, 1024, 2048, 4096
  std::uint32_t send_psn = 0;
  std::uint32_t receive_psn = 0;
  std::uint32_t qkey = 0;  ///< UD
  std::uint16_t pkey = wire::kDefaultPkey;
  std::uint32_t access = 0;        ///< Access mask: qp_access_flags
  std::uint8_t max_reads_out = 0;  ///< max_rd_atomic
  std::uint8_t max_reads_in = 0;   ///< max_dest_rd_atomic
  std::uint8_t timeout = 0;        ///< code 0–31: 4.096 us · 2^code; 0: never
  std::uint8_t retry_count = 0;    ///< 0–7
  std::uint8_t rnr_retry = 0;      ///< 0–7, 7: for ever
  std::uint8_t min_rnr_timer = 0;  ///< code 0–31
  Migration migration = Migration::migrated;
  AlternatePath alternate;

  /// The two paths change places, and it is done: so the program may rearm and find back.
  void migrate() {
    std::swap(path, alternate.path);
    std::swap(timeout, alternate.timeout);
    migration = Migration::migrated;
  }
};

/// A piece of payload in somebody's memory.
struct Fragment {
  const std::byte* data = nullptr;
  std::size_t size = 0;
  MemoryKey key{};  ///< of the region that it lies in; 0: of none, and the link copies it
};

/// A packet on its way out. Fragments point into application memory, inline data or the endpoint; they are
/// valid until the next call into the endpoint. The link adds pad, ICRC and everything below the BTH.
///
/// One may stand for several packets of the path MTU in a row (PathWindow::packets_at_once): its opcode is
/// that of all of them taken together, its PSN that of the first. A link takes it apart, or carries it as it
/// is where there is no MTU.
struct TxPacket {
  static constexpr std::size_t kMaxFragments = 34;
  const AddressVector* path = nullptr;
  wire::Headers headers;
  std::uint32_t packets = 1;
  std::uint32_t path_mtu = 0;  ///< payload of each of them but the last
  bool again = false;          ///< was sent before: now a link carries what it had only named by its place
  bool is_frame = false;       ///< the payload is an Ethernet frame for the netdev path->interface_index
  std::uint32_t payload_bytes = 0;
  std::uint16_t fragment_count = 0;
  Fragment fragments[kMaxFragments];
};

}  // namespace softrnic::ib
