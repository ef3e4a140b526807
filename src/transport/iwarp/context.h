// What all parts of an endpoint look at.
#pragma once

#include <chrono>

#include "transport/ib/host.h"
#include "transport/iwarp/mpa_options.h"

namespace softrnic::iwarp {

/// What verbs and the adapter set, beside what the connection has agreed upon.
struct Attributes {
  std::uint32_t access = 0;  ///< ib::Access mask: qp_access_flags
  std::size_t emss = 1448;   ///< bytes that a TCP segment of the stream carries
  /// The peer knows RFC 7306: immediate data and atomics.
  bool extensions = true;
  /// How long nothing may move once this side is to close, and how long the peer may take to end its own.
  Duration close_timeout = std::chrono::seconds(10);
};

struct Context {
  ib::Host& host;
  Attributes attributes;
  MpaAgreement agreement;
};

}  // namespace softrnic::iwarp
