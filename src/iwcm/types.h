// The values of iWARP's connection manager: what it is asked for, and what it tells.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/reason.h"
#include "base/strong.h"
#include "transport/iwarp/mpa_options.h"
#include "wire/gid.h"

namespace softrnic::iwcm {

/// A connection, and the TCP stream that it has. Never 0.
struct Id : Strong<struct IdTag, std::uint32_t> {
  using Strong::Strong;
};

/// An address that is listened at. Never 0.
struct ListenerId : Strong<struct ListenerIdTag, std::uint32_t> {
  using Strong::Strong;
};

/// One end of a TCP connection.
struct Endpoint {
  wire::Gid host{};  ///< IPv4 addresses are mapped
  std::uint16_t port = 0;
  std::uint32_t interface_index = 0;  ///< of a link-local address

  auto operator<=>(const Endpoint&) const = default;
};

/// What a program gives with a request or an answer.
struct Offer {
  std::uint16_t ird = 0;  ///< READs and atomics of the peer that it takes at once
  std::uint16_t ord = 0;  ///< those of its own that it would like to have under way
  Bytes private_data{};
};

/// Where a program listens, and as whom.
struct Listening {
  Endpoint at;
  int backlog = 0;         ///< what the program asked for
  std::uint8_t tos = 0;    ///< of the IP packets of its connections
  std::uint32_t user = 0;  ///< see Limits::of_user
  wire::MpaDemands demands{};
};

struct Request {
  Endpoint local;  ///< port 0: the host chooses
  Endpoint remote;
  std::uint8_t tos = 0;    ///< of the IP packets
  std::uint32_t user = 0;  ///< see Limits::of_user
  wire::MpaDemands demands{};
  Offer offer;
};

enum class EventKind : std::uint8_t {
  request,      ///< passive: `id` is new. Answer with accept(), reject() or destroy()
  given_up,     ///< passive: the peer has ended the connection before the request was answered
  reply,        ///< active: how it came out. 0: agreement() holds, and the host may take the stream
  established,  ///< passive: the program has the stream
  closed,       ///< the connection is over. Status -ETIMEDOUT: it has not ended by itself
};

/// Spans are good until Host::event() returns.
struct Event {
  EventKind kind{};
  Id id{};
  ListenerId listener{};  ///< request
  Endpoint local{};       ///< request, reply: as TCP has them
  Endpoint remote{};
  /// reply: 0; -ECONNREFUSED: rejected by the peer's program, or nobody listens; -ECONNRESET: ended without a
  /// word; -ETIMEDOUT; -EINVAL: the two do not agree; else the errno of TCP
  int status = 0;
  std::uint16_t ird = 0;  ///< request: what the peer says of itself, kMpaNoLimit: nothing. reply: agreed upon
  std::uint16_t ord = 0;
  Bytes private_data{};
  Reason reason{};  ///< of a failure
};

/// "request", "reply", …
std::string_view name_of(EventKind kind);

}  // namespace softrnic::iwcm
