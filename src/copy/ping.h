// How long a message takes to the server and back (SEND, answered by its process), and how long the server's
// memory takes to be read (RDMA READ, answered by its adapter).
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "copy/connection.h"

namespace softrnic::copy {

struct PingOptions {
  std::string host;
  std::uint16_t port = kDefaultPort;
  std::string token;
  std::uint64_t count = 0;  ///< 0: until stopped
  Clock::duration interval = std::chrono::seconds(1);
  std::size_t size = 56;  ///< bytes of payload, at most kMaxPing
  bool spin = false;      ///< look at the completion queue all the time instead of sleeping
  int stop_fd = -1;
};
inline constexpr std::size_t kMaxPing = kMaxMessage - 16;

using Nanoseconds = std::chrono::nanoseconds;

/// One exchange of each kind.
struct PingSample {
  std::uint64_t serial = 0;
  Nanoseconds message{}, read{};
};

struct PingReport {
  std::string peer;
  std::vector<PingSample> samples;
  std::uint64_t sent = 0;  ///< exchanges that were begun
};

/// Ends after `count`, or well when stopped. `each` is told of every sample.
Result<PingReport> ping(const PingOptions& options, const std::function<void(const PingSample&)>& each);

/// The server's side, until the client leaves.
Result<void> answer_pings(Connection& connection);

/// Of at least one value.
struct Spread {
  Nanoseconds min{}, average{}, max{}, p50{}, p90{}, p99{}, p999{};
};
Spread spread_of(std::vector<Nanoseconds> values);

}  // namespace softrnic::copy
