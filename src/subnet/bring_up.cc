#include "subnet/bring_up.h"

#include <utility>

#include "mad/forwarding_tables.h"
#include "subnet/port_settings.h"
#include "subnet/switch_settings.h"

namespace softrnic::subnet {

void BringUp::start(SubnetDatabase& database, bool is_first) {
  database_ = &database;
  configuration_.reset_failures();
  forget_what_was_reset(database.subnet, configuration_.sent());
  reregister_.clear();
  std::set<Guid> ports;
  database.subnet.for_each_port([&](NodePort at, const PhysicalPort& port) {
    if (!database.subnet.is_end_port(at)) return;
    ports.insert(port.guid);
    const bool came_up = port.info.port_state == mad::PortState::initialize;
    if (is_first || came_up || !known_.contains(port.guid)) reregister_.insert(port.guid);
  });
  known_ = std::move(ports);
  if (!options_.ports.client_reregistration) reregister_.clear();
  begin(Stage::ports);
}

void BringUp::start_multicast(SubnetDatabase& database) {
  database_ = &database;
  begin(Stage::multicast);
}

bool BringUp::step() {
  if (stage_ == Stage::done || !configuration_.is_done()) return false;
  const bool is_last = stage_ == Stage::activate || stage_ == Stage::multicast;
  begin(is_last ? Stage::done : static_cast<Stage>(static_cast<std::uint8_t>(stage_) + 1));
  return true;
}

void BringUp::begin(Stage stage) {
  stage_ = stage;
  if (stage == Stage::done) return;
  const Settings settings = settings_of(stage);
  if (stage == Stage::switches) tell_routing(settings);
  configuration_.apply(*database_, settings);
}

Settings BringUp::settings_of(Stage stage) {
  switch (stage) {
    case Stage::ports:
      return port_settings(*database_, options_, configuration_.sent());
    case Stage::switches:
      return switch_settings(*database_, options_, configuration_.sent());
    case Stage::arm:
      return arm_settings(*database_);
    case Stage::activate:
      return activate_settings(*database_, reregister_);
    case Stage::multicast:
      return multicast_settings(*database_, configuration_.sent());
    case Stage::done:
      break;
  }
  return {};
}

void BringUp::tell_routing(const Settings& settings) {
  std::set<NodeId> switches;
  std::size_t blocks = 0;
  for (const Setting& setting : settings) {
    if (setting.attribute != mad::LinearForwardingTable::kAttribute) continue;
    switches.insert(setting.port.node);
    ++blocks;
  }
  if (blocks != 0) events_.notify(event::RoutingChanged{options_.routing.engine, switches.size(), blocks});
}

}  // namespace softrnic::subnet
