// What all parts of an endpoint look at.
#pragma once

#include <chrono>

#include "transport/ib/host.h"
#include "transport/iwarp/mpa_options.h"

namespace softrnic::iwarp {

/// How long a message may lack a receive before the connection is given up.
inline constexpr Duration kReceivePatience = std::chrono::milliseconds(500);
/// How long a responder waits for the first FPDU of an initiator, from when that has acknowledged the reply
/// of MPA. Linux's siw reads it in a work queue of the kernel, which a busy processor comes to late: three
/// ticks of 100 Hz.
inline constexpr Duration kFirstWordPatience = std::chrono::milliseconds(30);
/// How long nothing may move once a side is to close, and how long the peer may take to end its own.
inline constexpr Duration kCloseTimeout = std::chrono::seconds(10);

/// What verbs and the adapter set, beside what the connection has agreed upon.
struct Attributes {
  std::uint32_t access = 0;  ///< ib::Access mask: qp_access_flags
  std::size_t emss = 1448;   ///< bytes that a TCP segment of the stream carries
  /// The peer knows RFC 7306: immediate data and atomics.
  bool extensions = true;
  Duration close_timeout = kCloseTimeout;
};

struct Context {
  ib::Host& host;
  Attributes attributes;
  MpaAgreement agreement;
};

}  // namespace softrnic::iwarp
