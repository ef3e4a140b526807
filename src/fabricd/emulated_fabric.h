// A fabric that runs: switches, cables and ports in the engine, their firmware, the hosts at its edge, and
// the subnet manager that it has by itself.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/expected.h"
#include "base/reason.h"
#include "base/time.h"
#include "daemon/event_loop.h"
#include "fabric/engine.h"
#include "fabric/node_agents.h"
#include "fabric/topology.h"
#include "fabric/wiring.h"
#include "fabricd/fabric_cables.h"
#include "fabricd/fabric_state.h"
#include "fabricd/link_load.h"
#include "subnet/options.h"

namespace softrnic::fabricd {

class EmbeddedManager;
class EmulatedHost;

struct FabricOptions {
  std::string name;
  fabric::LinkPace pace;
  bool has_manager = true;  ///< false: a program on a host manages it
  subnet::ManagerOptions manager{};
  std::string log_file;                            ///< of the program that manages it, if it writes one
  std::uint8_t index = 0;                          ///< see fabric/joined_topology.h
  std::vector<fabric::PortAddress> spare_ports{};  ///< for cables to other fabrics
};

class EmulatedFabric final : private fabric::EndportSink, private fabric::HostSink, private fabric::Dice {
 public:
  /// `loop` outlives it. A sentence: the topology does not fit.
  static Expected<std::unique_ptr<EmulatedFabric>, std::string> make(daemon::EventLoop& loop,
                                                                     fabric::Topology topology,
                                                                     FabricOptions options);
  ~EmulatedFabric() override;
  EmulatedFabric(const EmulatedFabric&) = delete;
  EmulatedFabric& operator=(const EmulatedFabric&) = delete;

  /// Its hosts take programs at sockets in that folder from now on.
  /// A sentence: which host cannot, and why.
  Expected<void, std::string> listen(const std::string& folder);
  /// Tells all programs that it ends.
  void take_leave();
  /// Programs that are connected.
  std::size_t clients() const;

  const std::string& name() const { return options_.name; }
  const fabric::Topology& topology() const { return topology_; }
  const fabric::Engine& engine() const { return engine_; }
  const fabric::NodeAgents& agents() const { return agents_; }
  const fabric::Wiring& wiring() const { return wiring_; }
  FabricState state() const { return {topology_, engine_, agents_, wiring_}; }
  const LinkLoad& load() const { return load_; }
  /// nullptr: a program manages the fabric.
  const EmbeddedManager* manager() const { return manager_.get(); }
  /// Empty: none is known.
  const std::string& log_file() const { return options_.log_file; }
  /// By node; nullptr of a switch.
  EmulatedHost* host(fabric::NodeIndex node) { return hosts_[node.value].get(); }
  const EmulatedHost* host(fabric::NodeIndex node) const { return hosts_[node.value].get(); }

  /// To other fabrics: one at each of FabricOptions::spare_ports.
  FabricCables& cables() { return cables_; }
  const FabricCables& cables() const { return cables_; }

  /// Cables count as in Topology::cables(); behind them come those to other fabrics. Nothing: there is none.
  std::optional<std::size_t> cable_at(fabric::PortAddress port) const;
  std::vector<std::size_t> cables_of(fabric::NodeIndex node) const;
  // Faults while it runs. False: there is no such cable.
  bool set_connected(std::size_t cable, bool connected);
  bool limit_rate(std::size_t cable, fabric::LinkRate most);
  bool set_errors(std::size_t cable, double packet_errors);

  TimePoint deadline() const;
  /// Before anything is sent or handed in: until the next call it happens at that time.
  void keep_time(TimePoint now);
  void advance(TimePoint now);

 private:
  class NodePorts;
  struct Place {
    EmulatedHost* host = nullptr;
    std::uint8_t number = 0;
  };

  EmulatedFabric(fabric::Topology topology, FabricOptions options);
  Expected<void, std::string> build(daemon::EventLoop& loop);
  void add_host(daemon::EventLoop& loop, fabric::NodeIndex node);
  Expected<void, std::string> add_cables(daemon::EventLoop& loop);
  void start_manager();
  Place place_of(fabric::PortId port) const;
  void loop_back(fabric::PortId port, Bytes frame);
  /// What the hosts have sent, and are ready to, as far as it comes now.
  void move_packets();
  /// `near`: a port of who asks, for the prefix of the subnet.
  wire::Gid owner_of(const wire::Gid& address, const fabric::ManagedPort& near) const;

  // fabric::EndportSink
  bool on_datagram(fabric::PortId endport, const fabric::Datagram& datagram) override;
  void on_event(fabric::PortId endport, fabric::PortEvent event) override;
  void on_trained(fabric::PortId port, const fabric::TrainedLink& link) override;
  // fabric::HostSink
  bool on_packet(fabric::PortId port, const fabric::Packet& packet) override;
  void on_room(fabric::PortId port) override;
  // fabric::Dice
  double roll() override;

  fabric::Topology topology_;
  FabricOptions options_;
  FabricCables cables_;
  fabric::NodeAgents agents_;
  fabric::Engine engine_;
  fabric::Wiring wiring_;
  LinkLoad load_;
  std::vector<std::unique_ptr<NodePorts>> ports_;  ///< by node, of those with a host
  std::vector<std::unique_ptr<EmulatedHost>> hosts_;
  std::unordered_map<std::uint32_t, Place> places_;              ///< by PortId
  std::unordered_map<std::uint32_t, fabric::PortId> addresses_;  ///< by IPv4 address
  std::uint32_t host_count_ = 0;
  std::vector<EmulatedHost*> with_room_;  ///< hosts whose lanes may go on sending
  std::unique_ptr<EmbeddedManager> manager_;
  std::mt19937_64 random_;
};

}  // namespace softrnic::fabricd
