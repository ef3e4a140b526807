// Management datagrams as they travel in the fabric: packets to QP0 or QP1 with 256 bytes of MAD (IBTA 3.9.4,
// 13.4.2).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/bytes.h"
#include "base/expected.h"
#include "base/strong.h"
#include "mad/mad.h"
#include "wire/grh.h"
#include "wire/headers.h"
#include "wire/lid.h"
#include "wire/link_header.h"
#include "wire/vcrc.h"

namespace softrnic::fabric {

inline constexpr Qpn kSmiQpn{0};                       ///< subnet management
inline constexpr Qpn kGsiQpn{1};                       ///< general services
inline constexpr std::uint32_t kGsiQkey = 0x80010000;  ///< the well-known Q_Key of QP1 (IBTA 10.2.5)

struct Datagram {
  wire::Lid slid;
  wire::Lid dlid;
  std::uint8_t sl = 0;
  std::uint8_t vl = 0;  ///< of what came; what is sent to QP0 goes by VL15, all else as the SL is mapped
  std::optional<wire::Grh> grh;
  std::uint16_t p_key = wire::kDefaultPkey;
  Qpn source;
  Qpn destination;
  std::uint32_t q_key = 0;
  mad::Mad mad{};
};

enum class DatagramError : std::uint8_t {
  bad_frame,      ///< wire::parse_infiniband_frame() refuses it, or it is longer than any
  not_send_only,  ///< not one UD SEND without immediate data
  not_a_mad,      ///< not 256 bytes
  bad_icrc,
};

/// Reads a packet, LRH to ICRC.
Expected<Datagram, DatagramError> read_datagram(Bytes packet);

/// The longest, LRH to ICRC.
inline constexpr std::size_t kMaxDatagramBytes =
    wire::kLrhBytes + wire::kGrhBytes + wire::kBthBytes + 8 + mad::kMadBytes + wire::kIcrcBytes;

/// A packet, LRH to ICRC.
class DatagramPacket {
 public:
  DatagramPacket(const Datagram& datagram, std::uint32_t psn);
  Bytes bytes() const { return Bytes(bytes_).first(size_); }
  bool is_management() const { return is_management_; }

 private:
  std::array<std::byte, kMaxDatagramBytes + wire::kVcrcBytes> bytes_;  ///< the VCRC is not used
  std::size_t size_ = 0;
  bool is_management_ = false;
};

/// The way back of a datagram that came to the endport with this LID: its MAD is still to be written.
Datagram answer_to(const Datagram& asked, wire::Lid own_lid);

}  // namespace softrnic::fabric
