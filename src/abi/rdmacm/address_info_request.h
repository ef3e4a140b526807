// The rdma_resolve_addrinfo of an id: from the call until the program has taken the outcome.
//
// Names are looked up by getaddrinfo of the C library, which waits for the network, follows the settings of
// this process (/etc/nsswitch.conf, RES_OPTIONS) and can be neither asked in parts nor broken off: so by a
// thread that ends with it. getaddrinfo_a has threads too, and is in no C library that we have to run with.
// The daemon has one thread, and other settings. The thread has no more than this object, which outlives the
// id: who destroys the id, or its channel, does not wait for a name server. A forked child has the object and
// not the thread, and touches neither.
#pragma once

#include <cstdint>
#include <mutex>

#include "abi/rdmacm/address_info.h"
#include "control/client.h"

namespace softrnic::rdmacm {

struct Id;

/// Thread-safe.
class AddressInfoRequest {
 public:
  struct Outcome {
    Info info;
    int error = 0;  ///< errno
  };

  explicit AddressInfoRequest(Id& id) : id_(&id) {}

  /// EBUSY: another request is under way, or its outcome was not fetched (a failure) or taken (a result).
  Expected<void, Failure> begin();
  /// It came to nothing, and no event tells of it.
  void cancel();
  /// Tells the program by an event; nothing when the id has gone. When that fails the request is cancelled.
  Expected<void, control::Error> finish(Outcome outcome);
  void failure_fetched();
  /// The result, once. ENOENT: there is none.
  Expected<Info, Failure> take();
  /// The id goes.
  void abandon();

 private:
  enum class State : std::uint8_t { none, under_way, resolved, failed };

  std::mutex mutex_;  ///< held until the event is told: who goes then does not go from under it
  Id* id_;
  State state_ = State::none;
  Info info_;
};

}  // namespace softrnic::rdmacm
