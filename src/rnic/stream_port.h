// The TCP stream of an iWARP queue pair, as its lane drives it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/time.h"
#include "transport/iwarp/mpa_options.h"
#include "transport/iwarp/same_host_peer.h"
#include "wire/gid.h"

namespace softrnic::rnic {

/// What a connection comes with when it has been set up.
struct StreamStart {
  std::uint64_t token = 0;  ///< names it to whoever has set it up
  iwarp::MpaAgreement agreement;
  bool initiator = false;                        ///< this side has connected
  std::optional<iwarp::SameHostPeer> same_host;  ///< then messages do not go by the stream
};

/// With the lane's lock held.
class StreamPort {
 public:
  /// Writes what the endpoint has, as much as one turn allows, and does what the endpoint wishes. Bytes
  /// written; 0: there is nothing to write, or the stream takes no more until the lane asks again by itself.
  virtual std::size_t write(TimePoint now) = 0;
  /// Bytes that a TCP segment carries (TCP_MAXSEG).
  virtual std::size_t emss() const = 0;
  virtual wire::Gid peer() const = 0;

 protected:
  ~StreamPort() = default;
};

}  // namespace softrnic::rnic
