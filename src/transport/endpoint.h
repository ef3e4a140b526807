// What a queue pair needs of its transport, whichever that is: work requests go in, time goes in, and it is
// told to end. What comes in and goes out beside that is the transport's own: packets (ib::Endpoint), or a
// stream of bytes (iwarp::Endpoint).
//
// Not thread-safe: the caller holds the lock of the lane.
#pragma once

#include <cstdint>

#include "base/time.h"
#include "transport/ib/send_slot.h"

namespace softrnic::transport {

class Endpoint {
 public:
  virtual ~Endpoint() = default;
  Endpoint(const Endpoint&) = delete;
  Endpoint& operator=(const Endpoint&) = delete;

  /// To ERR: completes everything that is posted with Status::flushed (receives included: those taken from
  /// the Host are completed here, those still queued are the Host's).
  virtual void flush() = 0;
  /// To RESET: forgets everything without completions.
  virtual void reset() = 0;

  /// The next free place of the send queue. Fill it, then commit().
  virtual ib::SendSlot reserve() = 0;
  virtual void commit() = 0;
  /// Work requests that occupy the send queue.
  virtual std::uint32_t outstanding_sends() const = 0;

  virtual TimePoint deadline() const = 0;  ///< kNever: none
  virtual void expire(TimePoint now) = 0;

  virtual bool in_error() const = 0;  ///< put itself into the error state
  virtual bool drained() const = 0;   ///< in SQD with nothing outstanding
  /// For tests: what of the endpoint's promises to itself does not hold between two calls; nullptr: all does.
  virtual const char* broken_invariant() const = 0;

 protected:
  Endpoint() = default;
};

}  // namespace softrnic::transport
