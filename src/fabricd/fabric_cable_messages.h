// What two fabric processes with a cable between them say to each other, by TCP. All numbers are big-endian.
//
//   message = length(16, of all of it) type(8) body
//
// Who listens begins with a challenge, who joins answers with a hello, and a welcome or a refusal ends the
// greeting. Each proves that it knows the token (HMAC-SHA-256), which is never sent. Then both say what they
// like of the rest, in any order.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/bytes.h"
#include "base/expected.h"
#include "base/hmac_sha256.h"
#include "fabric/link_training.h"
#include "fabric/remote_link_state.h"
#include "mad/guid.h"
#include "wire/flow_control_packet.h"

namespace softrnic::fabricd {

inline constexpr std::uint16_t kCableVersion = 1;
inline constexpr std::size_t kCableHeaderBytes = 3;
inline constexpr std::size_t kMostCableMessage = 8192;

using CableNonce = std::array<std::byte, 32>;

struct CableChallenge {
  std::uint16_t version = kCableVersion;
  CableNonce nonce{};
};
struct CableHello {
  CableNonce nonce{};
  std::uint8_t index = 0;  ///< that it had, and would have again; 0: none
  Mac proof{};
};
struct CableWelcome {
  std::uint8_t index = 0;
  Mac proof{};
};
struct CableRefusal {
  std::string why;  ///< at most kMostRefusal bytes
};
inline constexpr std::size_t kMostRefusal = 500;
/// Which end of the link is in what state, and what its port has enabled.
struct CableLink {
  fabric::RemoteLinkStatus status;
  fabric::LinkSettings settings;
};
struct CablePacket {
  bool damaged = false;
  Bytes bytes;  ///< LRH to ICRC, with the VL; of the message
};
/// Which port an IP address of an emulated IPoIB interface leads to.
struct CableAddress {
  std::uint32_t ipv4 = 0;
  mad::Guid port;

  bool operator==(const CableAddress&) const = default;
};
struct CableAddresses {
  static constexpr std::size_t kMost = 512;
  bool first = true;  ///< what was told before does not count any more
  std::vector<CableAddress> list;
};
struct CableKeepalive {};

using CableMessage = std::variant<CableChallenge, CableHello, CableWelcome, CableRefusal, CableLink,
                                  CablePacket, wire::FlowControlPacket, CableAddresses, CableKeepalive>;

/// A whole message, of which the length is right. Nothing: it makes no sense.
Expected<CableMessage, std::string_view> parse_cable_message(Bytes message);

void append(std::vector<std::byte>& out, const CableChallenge& message);
void append(std::vector<std::byte>& out, const CableHello& message);
void append(std::vector<std::byte>& out, const CableWelcome& message);
void append(std::vector<std::byte>& out, const CableRefusal& message);
void append(std::vector<std::byte>& out, const CableLink& message);
void append(std::vector<std::byte>& out, const CablePacket& message);
void append(std::vector<std::byte>& out, const wire::FlowControlPacket& message);
void append(std::vector<std::byte>& out, const CableAddresses& message);
void append(std::vector<std::byte>& out, const CableKeepalive& message);

/// Of who joins (`who` 'j') or listens ('l'), for this greeting and index alone.
Mac prove_cable_token(std::string_view token, char who, const CableNonce& listener, const CableNonce& joiner,
                      std::uint8_t index);

}  // namespace softrnic::fabricd
