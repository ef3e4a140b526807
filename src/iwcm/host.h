// What iWARP's connection manager asks of whoever has the sockets.
#pragma once

#include <cstdint>

#include "base/bytes.h"
#include "base/expected.h"
#include "base/reason.h"
#include "iwcm/types.h"

namespace softrnic::iwcm {

/// The TCP of this host. None of these calls the manager back.
class Streams {
 public:
  /// Begins to listen; Manager::incoming() tells what comes. Fails with the errno of bind() or listen().
  virtual Expected<void, Failure> listen(ListenerId listener, const Listening& listening) = 0;
  virtual void unlisten(ListenerId listener) = 0;
  /// Begins to connect; Manager::opened() or ended() tells how it came out.
  virtual Expected<void, Failure> open(Id stream, const Endpoint& from, const Endpoint& to,
                                       std::uint8_t tos) = 0;
  /// All of `bytes`, which are no more than an MPA frame and a Terminate message: a connection that is new
  /// has room for them. False: it has not, or is broken.
  virtual bool write(Id stream, Bytes bytes) = 0;
  /// Nothing of the stream is read or written here any more: it waits for the program to take it.
  virtual void hand_over(Id stream) = 0;
  /// What was written still goes out. Of a stream that was taken, or is not there: nothing to do.
  virtual void close(Id stream) = 0;

 protected:
  ~Streams() = default;
};

class Host {
 public:
  /// May call back, destroy() of the same id included.
  virtual void event(const Event& event) = 0;
  virtual std::uint32_t random_number() = 0;
  /// Something was dropped or refused without a call that could fail. Must not call back.
  virtual void explain(const Reason& reason, const Endpoint& peer) = 0;

 protected:
  ~Host() = default;
};

}  // namespace softrnic::iwcm
