// Finds the paths to the peers of a datagram rsocket, by rdma_cm.
#pragma once

#include "rsocket/destinations.h"

namespace softrnic::rsocket {

/// The socket's lock guards it.
class PathResolver {
 public:
  explicit PathResolver(ChannelPtr channel) : channel_(std::move(channel)) {}

  /// Begins to look for the path to a peer whose QPN is known, unless there is one, that is under way or it
  /// has failed within the last second.
  void want_path(Destination& destination);
  /// Goes on with what rdma_cm has found out.
  void take_events();
  /// While resolving(): readable when there is something for take_events().
  int descriptor() const { return channel_->fd; }
  bool resolving() const { return resolving_ > 0; }

 private:
  Result<void> begin(Destination& destination);
  Result<void> take_event(Destination& destination, rdma_cm_event_type event, int status);
  Result<void> take_route(Destination& destination);
  void end(Destination& destination, const Result<void>& outcome);

  ChannelPtr channel_;
  int resolving_ = 0;
};

}  // namespace softrnic::rsocket
