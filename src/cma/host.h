// What the connection manager asks of the daemon it lives in.
#pragma once

#include <cstdint>

#include "base/bytes.h"
#include "base/expected.h"
#include "base/reason.h"
#include "base/time.h"
#include "cma/types.h"
#include "mad/address.h"
#include "wire/gid.h"

namespace softrnic::cma {

/// A question to the host's routing and neighbour tables.
struct RouteQuery {
  wire::Gid source;  ///< zero: the route chooses
  wire::Gid destination;
  std::uint32_t interface_index = 0;  ///< netdev to leave through, 0: the route chooses
  TimePoint deadline = kNever;        ///< answer with ETIMEDOUT then
};
struct Route {
  wire::Gid source;  ///< of the query, or what the route chose
  /// Of the netdev that leads there; of one of our own addresses: that has it
  std::uint32_t interface_index = 0;
  std::uint8_t hop_limit = 64;
};
/// ENETUNREACH: no route; EHOSTUNREACH: nobody answers for the address; ETIMEDOUT.
using RouteAnswer = Expected<Route, Failure>;

class Host {
 public:
  /// Never runs backwards.
  virtual TimePoint now() = 0;
  virtual std::uint32_t random_number() = 0;
  /// A MAD from QP1. May be lost.
  virtual void send(const mad::Address& to, Bytes mad) = 0;
  /// Answered by Manager::resolved(id, …), from within or later, at most once; later questions of the same
  /// id replace earlier ones.
  virtual void resolve(IdNumber id, const RouteQuery& query) = 0;
  virtual void cancel_resolve(IdNumber id) = 0;
  /// next_event(channel) has one more. Must not call back.
  virtual void event_queued(ChannelNumber channel) = 0;
  /// Something was dropped or refused without a call that could fail. Must not call back.
  virtual void explain(const Reason& reason, const mad::Address& peer) = 0;

 protected:
  ~Host() = default;
};

}  // namespace softrnic::cma
