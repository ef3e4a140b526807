// The values of communication management: what two sides tell each other when they connect
// queue pairs (IBTA 12.6).
//
// Time-outs with 5 bits are exponents: code n stands for 4.096 µs · 2^n, see duration_of().
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/bytes.h"
#include "base/reason.h"
#include "base/strong.h"
#include "base/time.h"
#include "mad/address.h"
#include "wire/gid.h"
#include "wire/lid.h"

namespace softrnic::cm {

/// A communication ID of this side (for SIDR: the request ID). Never 0.
struct Id : Strong<struct IdTag, std::uint32_t> {
  using Strong::Strong;
};

/// What a listener offers and a request asks for.
struct ServiceId : Strong<struct ServiceIdTag, std::uint64_t> {
  using Strong::Strong;
};

/// Bytes of private data in each message (IBTA 12.6, 12.11).
inline constexpr std::size_t kReqPrivateData = 92;
inline constexpr std::size_t kRepPrivateData = 196;
inline constexpr std::size_t kRtuPrivateData = 224;
inline constexpr std::size_t kRejPrivateData = 148;
inline constexpr std::size_t kMraPrivateData = 222;
inline constexpr std::size_t kDreqPrivateData = 220;
inline constexpr std::size_t kDrepPrivateData = 224;
inline constexpr std::size_t kSidrReqPrivateData = 216;
inline constexpr std::size_t kSidrRepPrivateData = 136;
inline constexpr std::size_t kAdditionalInfo = 72;  ///< bytes of additional reject information (ARI)

/// The duration of a 5-bit time-out code: 4.096 µs · 2^code. Only the low five bits count.
constexpr Duration duration_of(std::uint8_t code) { return Duration(std::int64_t{4096} << (code & 0x1f)); }

/// Transport service of the queue pairs. Values are this project's; the message splits XRC over two fields.
enum class Service : std::uint8_t { rc, uc, rd, xrc };

/// Why a REJ was sent (IBTA 12.6.7.2).
enum class RejectReason : std::uint16_t {
  none = 0,
#define SOFTRNIC_CM_REJECT(number, name, words, chinese) name = number,
#include "base/cm_reject_reasons.def"
#undef SOFTRNIC_CM_REJECT
};
/// The reason in words; "" for a number without a meaning.
std::string_view words_of(RejectReason reason);

/// Which message a REJ or an MRA is about.
enum class About : std::uint8_t { req = 0, rep = 1, other = 2 };

/// Status of a SIDR_REP (IBTA 12.11).
enum class SidrStatus : std::uint8_t {
  valid = 0,
  unsupported = 1,  ///< no such service
  rejected = 2,
  no_queue_pair = 3,
  redirect = 4,
  bad_version = 5,
};

/// Enhanced connection establishment as Linux ≥ 5.10 carries it: 24 bits of vendor, 32 bits of options in the
/// attribute modifier of REQ, REP and SIDR_REP. Carried and not read.
struct Ece {
  std::uint32_t vendor = 0;
  std::uint32_t options = 0;
  bool operator==(const Ece&) const = default;
};

/// A path between two adapters; `local` is always this side's.
struct Path {
  wire::Gid local{};
  wire::Gid remote{};
  std::uint32_t interface_index = 0;  ///< netdev or InfiniBand port of `local`, 0: any; not on the wire
  wire::Lid local_lid{};              ///< of InfiniBand, path bits included; reserved elsewhere
  wire::Lid remote_lid{};
  std::uint16_t pkey = wire::kDefaultPkey;
  std::uint8_t mtu = 0;          ///< enum ibv_mtu, 1–5
  std::uint8_t rate = 0;         ///< enum ibv_rate, 6 bits
  std::uint32_t flow_label = 0;  ///< 20 bits
  std::uint8_t traffic_class = 0;
  std::uint8_t hop_limit = 64;
  std::uint8_t sl = 0;           ///< 4 bits
  std::uint8_t ack_timeout = 0;  ///< 5-bit code: what the queue pairs wait for an ACK

  bool is_infiniband() const { return !remote_lid.is_reserved(); }
  /// No router is on the way, so InfiniBand's packets need no GRH (IBTA 8.3).
  bool is_subnet_local() const { return hop_limit <= 1; }
};

/// Where MADs for the other end of `path` go.
mad::Address address_of(const Path& path);

/// What one side says of its queue pair in a REQ or REP. Read by the other side, responder_resources is what
/// it may have outstanding, and initiator_depth what it has to be ready for.
struct Endpoint {
  Qpn qpn{};
  std::uint32_t qkey = 0;
  std::uint32_t starting_psn = 0;  ///< 24 bits: of the first packet that the other side sends to it
  std::uint8_t responder_resources = 0;
  std::uint8_t initiator_depth = 0;
  std::uint8_t rnr_retry_count = 0;  ///< 3 bits
  bool flow_control = false;         ///< end-to-end
  bool srq = false;
  std::uint64_t ca_guid = 0;  ///< in events; outward the manager puts its own
  Ece ece{};
};

/// An active side's wish to connect.
struct Request {
  ServiceId service_id{};
  Service service = Service::rc;
  Path path{};
  Endpoint endpoint{};
  std::uint8_t retry_count = 7;      ///< 3 bits: of the queue pairs
  std::uint8_t max_cm_retries = 15;  ///< 4 bits: how often a CM message is repeated
  /// 5-bit code: how long this side may take to answer a CM message
  std::uint8_t local_response_timeout = 20;
  std::uint8_t remote_response_timeout = 20;  ///< 5-bit code: the same of the peer
  Bytes private_data{};                       ///< at most kReqPrivateData, else EINVAL; padded with zeros
};

/// A passive side's acceptance.
struct Reply {
  Endpoint endpoint{};
  std::uint8_t target_ack_delay = 15;  ///< 5-bit code
  Bytes private_data{};                ///< at most kRepPrivateData
};

/// A refusal.
struct Rejection {
  RejectReason reason = RejectReason::consumer_defined;
  Bytes additional_info{};  ///< at most kAdditionalInfo
  Bytes private_data{};     ///< at most kRejPrivateData
};

/// A wish to learn the queue pair behind a service ID (SIDR: unreliable datagrams).
struct SidrRequest {
  ServiceId service_id{};
  Path path{};
  std::uint8_t max_cm_retries = 15;
  std::uint8_t response_timeout = 20;  ///< 5-bit code: between repetitions
  Bytes private_data{};                ///< at most kSidrReqPrivateData
};

/// The answer to it.
struct SidrReply {
  SidrStatus status = SidrStatus::valid;
  Qpn qpn{};
  std::uint32_t qkey = 0;
  Ece ece{};
  Bytes additional_info{};  ///< at most kAdditionalInfo
  Bytes private_data{};     ///< at most kSidrRepPrivateData
};

}  // namespace softrnic::cm
