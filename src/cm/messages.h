// The messages of communication management as plain values in host byte order (IBTA 12.6, 12.8, 12.11). The
// formats stand in messages.cc, one table of fields a message. The places of the ECE vendor are those of
// Linux ≥ 5.10; the ECE options travel in the header's attribute modifier.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/strong.h"
#include "cm/types.h"
#include "mad/mad.h"
#include "wire/gid.h"

namespace softrnic::cm {

inline constexpr std::uint8_t kClassVersion = 2;

/// Attribute IDs: which message it is.
enum class Message : std::uint16_t {
  req = 0x10,
  mra = 0x11,
  rej = 0x12,
  rep = 0x13,
  rtu = 0x14,
  dreq = 0x15,
  drep = 0x16,
  sidr_req = 0x17,
  sidr_rep = 0x18,
  lap = 0x19,
  apr = 0x1a,
};

template <std::size_t n>
using Data = std::array<std::byte, n>;

/// Primary or alternate path of a REQ, alternate path of a LAP.
struct PathBlock {
  std::uint16_t local_lid = 0;
  std::uint16_t remote_lid = 0;
  wire::Gid local_gid;
  wire::Gid remote_gid;
  std::uint32_t flow_label = 0;
  std::uint8_t reserved_rate = 0;
  std::uint8_t rate = 0;
  std::uint8_t traffic_class = 0;
  std::uint8_t hop_limit = 0;
  std::uint8_t sl = 0;
  bool subnet_local = false;
  std::uint8_t reserved_sl = 0;
  std::uint8_t ack_timeout = 0;
  std::uint8_t reserved_timeout = 0;
};

/// Values of Req::transport_service and Req::extended_transport (12.7.7, and XRC).
inline constexpr std::uint8_t kTransportRc = 0;
inline constexpr std::uint8_t kTransportUc = 1;
inline constexpr std::uint8_t kTransportRd = 2;
inline constexpr std::uint8_t kTransportExtended = 3;
inline constexpr std::uint8_t kExtendedXrc = 1;

struct Req {
  static constexpr Message kMessage = Message::req;
  std::uint32_t local_id = 0;
  std::uint8_t reserved4 = 0;
  std::uint32_t vendor = 0;
  ServiceId service_id;
  std::uint64_t ca_guid = 0;
  std::uint32_t reserved24 = 0;
  std::uint32_t qkey = 0;
  Qpn qpn;
  std::uint8_t responder_resources = 0;
  std::uint32_t local_eecn = 0;
  std::uint8_t initiator_depth = 0;
  std::uint32_t remote_eecn = 0;
  std::uint8_t remote_response_timeout = 0;
  std::uint8_t transport_service = 0;
  bool flow_control = false;
  std::uint32_t starting_psn = 0;
  std::uint8_t local_response_timeout = 0;
  std::uint8_t retry_count = 0;
  std::uint16_t pkey = 0;
  std::uint8_t mtu = 0;
  bool rdc_exists = false;
  std::uint8_t rnr_retry_count = 0;
  std::uint8_t max_cm_retries = 0;
  bool srq = false;
  std::uint8_t extended_transport = 0;
  PathBlock primary;
  PathBlock alternate;
  Data<kReqPrivateData> private_data{};
};

struct Mra {
  static constexpr Message kMessage = Message::mra;
  std::uint32_t local_id = 0;
  std::uint32_t remote_id = 0;
  About about{};
  std::uint8_t reserved8 = 0;
  std::uint8_t service_timeout = 0;
  std::uint8_t reserved9 = 0;
  Data<kMraPrivateData> private_data{};
};

struct Rej {
  static constexpr Message kMessage = Message::rej;
  std::uint32_t local_id = 0;
  std::uint32_t remote_id = 0;
  About about{};
  std::uint8_t reserved8 = 0;
  std::uint8_t info_length = 0;  ///< bytes of additional_info that count, 7 bits
  std::uint8_t reserved9 = 0;
  RejectReason reason{};
  Data<kAdditionalInfo> additional_info{};
  Data<kRejPrivateData> private_data{};
};

struct Rep {
  static constexpr Message kMessage = Message::rep;
  std::uint32_t local_id = 0;
  std::uint32_t remote_id = 0;
  std::uint32_t qkey = 0;
  Qpn qpn;
  std::uint8_t vendor_high = 0;
  std::uint32_t eecn = 0;  ///< XRC: the QP's number
  std::uint8_t vendor_middle = 0;
  std::uint32_t starting_psn = 0;
  std::uint8_t vendor_low = 0;
  std::uint8_t responder_resources = 0;
  std::uint8_t initiator_depth = 0;
  std::uint8_t target_ack_delay = 0;
  std::uint8_t failover_accepted = 0;
  bool flow_control = false;
  std::uint8_t rnr_retry_count = 0;
  bool srq = false;
  std::uint8_t reserved27 = 0;
  std::uint64_t ca_guid = 0;
  Data<kRepPrivateData> private_data{};
};

struct Rtu {
  static constexpr Message kMessage = Message::rtu;
  std::uint32_t local_id = 0;
  std::uint32_t remote_id = 0;
  Data<kRtuPrivateData> private_data{};
};

struct Dreq {
  static constexpr Message kMessage = Message::dreq;
  std::uint32_t local_id = 0;
  std::uint32_t remote_id = 0;
  Qpn remote_qpn;
  std::uint8_t reserved11 = 0;
  Data<kDreqPrivateData> private_data{};
};

struct Drep {
  static constexpr Message kMessage = Message::drep;
  std::uint32_t local_id = 0;
  std::uint32_t remote_id = 0;
  Data<kDrepPrivateData> private_data{};
};

struct Lap {
  static constexpr Message kMessage = Message::lap;
  std::uint32_t local_id = 0;
  std::uint32_t remote_id = 0;
  std::uint32_t reserved8 = 0;
  Qpn remote_qpn;
  std::uint8_t remote_response_timeout = 0;
  std::uint8_t reserved15 = 0;
  std::uint32_t reserved16 = 0;
  PathBlock alternate;
  std::uint8_t reserved58 = 0;
  Data<168> private_data{};
};

/// Status of an APR (12.8.2).
enum class AprStatus : std::uint8_t { loaded = 0, invalid_id = 1, not_supported = 2, wrong_qpn = 6 };

struct Apr {
  static constexpr Message kMessage = Message::apr;
  std::uint32_t local_id = 0;
  std::uint32_t remote_id = 0;
  std::uint8_t info_length = 0;
  AprStatus status{};
  std::uint16_t reserved10 = 0;
  Data<kAdditionalInfo> additional_info{};
  Data<148> private_data{};
};

struct SidrReq {
  static constexpr Message kMessage = Message::sidr_req;
  std::uint32_t request_id = 0;
  std::uint16_t pkey = 0;
  std::uint16_t reserved6 = 0;
  ServiceId service_id;
  Data<kSidrReqPrivateData> private_data{};
};

struct SidrRep {
  static constexpr Message kMessage = Message::sidr_rep;
  std::uint32_t request_id = 0;
  SidrStatus status{};
  std::uint8_t info_length = 0;
  std::uint16_t vendor_high = 0;
  Qpn qpn;
  std::uint8_t vendor_low = 0;
  ServiceId service_id;
  std::uint32_t qkey = 0;
  Data<kAdditionalInfo> additional_info{};
  Data<kSidrRepPrivateData> private_data{};
};

/// Reads the data of a whole MAD (256 bytes) as message M; the header's attribute has been looked at.
template <typename M>
M decode(Bytes mad);

/// Writes data and header: class, version, method, attribute of M, and `transaction` and `modifier`.
template <typename M>
mad::Mad encode(const M& message, std::uint64_t transaction, std::uint32_t modifier = 0);

/// One line of the fields that are not zero; for people and logs.
template <typename M>
std::string to_string(const M& message);

/// A message's format as far as it does not depend on its type.
struct Format {
  Message message;
  std::string_view name;  ///< "REQ"
  std::string (*print)(Bytes mad);
  void (*recode)(Bytes in, MutableBytes out);  ///< decodes the data of `in` and encodes it into `out`
};
std::span<const Format> formats();
/// nullptr when the attribute is no message.
const Format* find_format(std::uint16_t attribute);

/// "REQ local_id=0x…": any CM MAD; "" for anything else.
std::string print(Bytes mad);

}  // namespace softrnic::cm
