// The keeper of a cable that leaves the engine: it brings the link up and down together with its far end
// (fabric/remote_link_state.h).
#pragma once

#include <functional>

#include "fabric/engine.h"
#include "fabric/remote_link_state.h"

namespace softrnic::fabric {

class RemoteLink {
 public:
  /// Tells the far end. What is told and what the engine hands over arrives there in one order, or not at
  /// all: then the connection is another.
  using Tell = std::function<void(const RemoteLinkStatus& status)>;

  /// `engine` outlives it, and has that remote port.
  RemoteLink(Engine& engine, PortId remote) : engine_(engine), remote_(remote) {}
  RemoteLink(const RemoteLink&) = delete;
  RemoteLink& operator=(const RemoteLink&) = delete;

  PortId remote() const { return remote_; }
  bool is_up() const { return link().up; }

  /// There is a connection to the far end from now on, another one than before.
  void connect(Tell tell);
  /// There is none any more: the link goes down.
  void disconnect();
  void hear(const RemoteLinkStatus& status);
  /// RemoteSink::on_link()
  void changed();

 private:
  const Link& link() const { return *engine_.port(remote_)->link; }
  void tell_changes();
  void come_up_if_agreed();

  Engine& engine_;
  const PortId remote_;
  RemoteLinkState state_;
  Tell tell_;
  std::optional<RemoteLinkStatus> told_;
  bool was_up_ = false;
};

}  // namespace softrnic::fabric
