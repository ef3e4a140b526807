// The subnet manager and administrator that the fabric has by itself, on one of its endports. They speak by
// management datagrams as any other would.
#pragma once

#include <deque>
#include <string>

#include "base/time.h"
#include "fabric/node_agents.h"
#include "subnet/events.h"
#include "subnet/manager.h"

namespace softrnic::fabricd {

class EmbeddedManager final : private subnet::DatagramPort, private subnet::EventSink {
 public:
  static constexpr std::size_t kLog = 1000;  ///< lines

  /// On that endport, whose port GUID this is. `agents` outlives it.
  EmbeddedManager(fabric::NodeAgents& agents, fabric::PortId endport, subnet::Guid port_guid,
                  subnet::ManagerOptions options);

  fabric::PortId endport() const { return endport_; }
  const subnet::Manager& manager() const { return manager_; }
  /// What it has told, the oldest first.
  const std::deque<std::string>& log() const { return log_; }

  void start(TimePoint now) { manager_.start(now); }
  /// A datagram that has come to its endport. False: it is none for a manager here.
  bool receive(const fabric::Datagram& datagram, TimePoint now);
  TimePoint deadline() const { return manager_.deadline(); }
  void advance(TimePoint now) { manager_.advance(now); }

 private:
  // subnet::DatagramPort
  void send(const subnet::DatagramAddress& to, const mad::Mad& mad) override;
  // subnet::EventSink
  void notify(const subnet::Event& event) override;

  fabric::NodeAgents& agents_;
  fabric::PortId endport_;
  subnet::Manager manager_;
  std::deque<std::string> log_;
};

}  // namespace softrnic::fabricd
