// A fabric without hosts for tests: engine, firmware and the embedded subnet manager, in time of its own.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "fabric/node_profile.h"
#include "fabric/topology_shapes.h"
#include "fabricd/embedded_manager.h"
#include "fabricd/fabric_state.h"

namespace softrnic::fabricd {

class RunningFabric : private fabric::EndportSink, private fabric::HostSink {
 public:
  /// Up when it is made, unless `has_manager` is false.
  explicit RunningFabric(const std::string& shape = "", subnet::ManagerOptions options = {},
                         bool has_manager = true, double scale = 0)
      : topology_(*fabric::make_topology(shape)) {
    wiring_ = *fabric::place_nodes(engine, topology_);
    for (std::size_t i = 0; i < wiring_.nodes.size(); ++i)
      agents_.add(wiring_.nodes[i], fabric::profile_of(topology_.nodes()[i]));
    EXPECT_TRUE(fabric::connect_cables(engine, topology_, {scale}, wiring_));
    if (has_manager) start(std::move(options));
    run(Duration(30'000'000'000));
  }

  FabricState state() const { return {topology_, engine, agents_, wiring_}; }

  /// All that happens in so much time.
  void run(Duration time) {
    const TimePoint end = engine.now() + time;
    for (TimePoint now = next(); now <= end; now = next()) {
      engine.advance(std::max(now, engine.now()));
      agents_.advance(engine.now());
      if (manager_ && manager_->deadline() <= engine.now()) manager_->advance(engine.now());
    }
    engine.advance(end);
  }

  fabric::PortAddress at(const std::string& node, std::uint8_t port) const {
    return {*topology_.find(node), port};
  }
  Endport endport(const std::string& name) const { return *find_endport(state(), name); }
  fabric::NodeId node(const std::string& name) const { return wiring_.nodes[topology_.find(name)->value]; }
  fabric::PortId port(const std::string& node, std::uint8_t number) const {
    return engine.port(this->node(node), number)->id;
  }
  fabric::LinkId cable(const std::string& node, std::uint8_t port) const {
    for (std::size_t i = 0; i < wiring_.links.size(); ++i)
      if (topology_.cables()[i].a == at(node, port) || topology_.cables()[i].b == at(node, port))
        return wiring_.links[i];
    ADD_FAILURE() << "no cable at " << node << " " << int{port};
    return {};
  }

  bool hosts_take = true;

 private:
  void start(subnet::ManagerOptions options) {
    const fabric::ManagedPort& port = *state().managed({*topology_.find("host1"), 1});
    manager_ = std::make_unique<EmbeddedManager>(agents_, port.id, subnet::Guid(port.guids[0].value),
                                                 std::move(options));
    agents_.set_sm(port.id, true);
    manager_->start(engine.now());
  }
  TimePoint next() const {
    const TimePoint next = std::min(engine.next_deadline(), agents_.next_deadline());
    return manager_ ? std::min(next, manager_->deadline()) : next;
  }

  bool on_datagram(fabric::PortId endport, const fabric::Datagram& datagram) override {
    return manager_ && manager_->endport() == endport && manager_->receive(datagram, engine.now());
  }
  void on_event(fabric::PortId, fabric::PortEvent) override {}
  void on_trained(fabric::PortId, const fabric::TrainedLink&) override {}
  bool on_packet(fabric::PortId, const fabric::Packet&) override { return hosts_take; }
  void on_room(fabric::PortId) override {}

  fabric::Topology topology_;
  fabric::NodeAgents agents_{engine, this};

 public:
  fabric::Engine engine{{}, {.management = &agents_, .hosts = this, .tap = nullptr, .dice = nullptr}};

 private:
  fabric::Wiring wiring_;
  std::unique_ptr<EmbeddedManager> manager_;
};

}  // namespace softrnic::fabricd
