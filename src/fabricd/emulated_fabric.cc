#include "fabricd/emulated_fabric.h"

#include <sys/random.h>

#include <algorithm>

#include "base/clock.h"
#include "control/error.h"
#include "control/fabric_folder.h"
#include "fabric/node_profile.h"
#include "fabricd/datagrams.h"
#include "fabricd/embedded_manager.h"
#include "fabricd/emulated_host.h"

namespace softrnic::fabricd {
namespace {

using fabric::NodeIndex;
using fabric::NodeType;

std::uint64_t random_seed() {
  std::uint64_t seed = 0;
  [[maybe_unused]] const ssize_t taken = getrandom(&seed, sizeof seed, 0);
  return seed;
}

fabric::LinkRate trained_rate(const fabric::TrainedLink& link) {
  fabric::LinkRate rate{static_cast<fabric::LinkWidth>(link.width), fabric::LinkSpeed::sdr};
  if (const mad::SpeedInfo* const speed = mad::find_speed(link.speed, link.extended))
    rate.speed = fabric::find_link_speed(speed->name).value_or(rate.speed);
  return rate;
}

/// A packet that is due so soon is waited for: to sleep until then takes longer.
constexpr Duration kSoon = std::chrono::microseconds(2);
/// Times that hosts may go on in one turn, so that what comes from others is not kept waiting: 128 KiB of one
/// host.
constexpr int kRounds = 8;

}  // namespace

/// The ports of one adapter, as its host uses them.
class EmulatedFabric::NodePorts final : public HostFabric {
 public:
  NodePorts(EmulatedFabric& fabric, fabric::NodeId id) : fabric_(fabric), id_(id) {}

  const fabric::ManagedNode& node() const override { return *fabric_.agents_.node(id_); }

  Sent send(std::uint8_t number, Bytes frame) override {
    const fabric::EnginePort* const port = fabric_.engine_.port(id_, number);
    if (port == nullptr) return Sent::refused;
    const auto sent = fabric_.engine_.send(port->id, frame);
    if (sent) fabric_.loop_back(port->id, frame);
    if (sent) return Sent::taken;
    return sent.error() == fabric::SendError::no_room ? Sent::no_room : Sent::refused;
  }

  void send_mad(std::uint8_t number, mad::Queue queue, const mad::Peer& to, Bytes mad) override {
    const fabric::ManagedPort* const port = node().port(number);
    if (port != nullptr) fabric_.agents_.send(port->id, datagram_to(*port, queue, to, mad));
  }

  void set_is_sm(std::uint8_t number, bool is_sm) override {
    if (const fabric::ManagedPort* const port = node().port(number)) fabric_.agents_.set_sm(port->id, is_sm);
  }

  wire::Gid owner_of(const wire::Gid& address) const override {
    return fabric_.owner_of(address, node().endport(1));
  }

 private:
  EmulatedFabric& fabric_;
  const fabric::NodeId id_;
};

Expected<std::unique_ptr<EmulatedFabric>, std::string> EmulatedFabric::make(daemon::EventLoop& loop,
                                                                            fabric::Topology topology,
                                                                            FabricOptions options) {
  std::unique_ptr<EmulatedFabric> made(new EmulatedFabric(std::move(topology), std::move(options)));
  if (auto built = made->build(loop); !built) return Unexpected{built.error()};
  return made;
}

EmulatedFabric::EmulatedFabric(fabric::Topology topology, FabricOptions options)
    : topology_(std::move(topology)),
      options_(std::move(options)),
      cables_(options_.index),
      agents_(engine_, this),
      engine_({}, {.management = &agents_, .hosts = this, .tap = nullptr, .dice = this, .remotes = &cables_}),
      random_(random_seed()) {}

EmulatedFabric::~EmulatedFabric() = default;

Expected<void, std::string> EmulatedFabric::build(daemon::EventLoop& loop) {
  engine_.advance(monotonic_now());
  auto wiring = fabric::place_nodes(engine_, topology_);
  if (!wiring) return Unexpected{wiring.error()};
  wiring_ = std::move(*wiring);
  ports_.resize(topology_.nodes().size());
  hosts_.resize(topology_.nodes().size());
  for (std::uint32_t i = 0; i < topology_.nodes().size(); ++i) {
    agents_.add(wiring_.nodes[i], fabric::profile_of(topology_.nodes()[i]));
    if (topology_.nodes()[i].type == NodeType::channel_adapter) add_host(loop, NodeIndex(i));
  }
  if (auto done = fabric::connect_cables(engine_, topology_, options_.pace, wiring_); !done) return done;
  if (auto done = add_cables(loop); !done) return done;
  if (options_.has_manager) start_manager();
  return {};
}

// There from the beginning, as a cable of which nobody has the other end.
Expected<void, std::string> EmulatedFabric::add_cables(daemon::EventLoop& loop) {
  for (const fabric::PortAddress spare : options_.spare_ports) {
    const fabric::EnginePort* const port = engine_.port(wiring_.nodes[spare.node.value], spare.port);
    const fabric::LinkRate rate = topology_.port(spare)->rate;
    const auto made = engine_.connect_remote(port->id, options_.pace.of(rate), Duration(0));
    if (!made) return Unexpected{std::string("there is no room for a cable to another fabric")};
    wiring_.links.push_back(made->link);
    cables_.add(std::make_unique<FabricCable>(loop, engine_, agents_, made->remote));
  }
  std::vector<CableAddress> own;
  for (const auto& [address, port] : addresses_)
    own.push_back({__builtin_bswap32(address), agents_.port(port)->guids[0]});
  cables_.set_addresses(std::move(own));
  return {};
}

void EmulatedFabric::add_host(daemon::EventLoop& loop, NodeIndex index) {
  const fabric::Node& node = topology_.node(index);
  const fabric::NodeId id = wiring_.nodes[index.value];
  ++host_count_;
  std::vector<wire::Gid> addresses;
  for (std::uint32_t port = 1; port <= node.port_count(); ++port)
    addresses.push_back(
        wire::Gid::from_ipv4_be(__builtin_bswap32(ipoib_address(options_.index, host_count_, port))));
  auto& ports = ports_[index.value] = std::make_unique<NodePorts>(*this, id);
  auto& host = hosts_[index.value] =
      std::make_unique<EmulatedHost>(loop, *ports, node.name, std::move(addresses));
  for (const fabric::ManagedPort& port : agents_.node(id)->ports)
    if (port.number != 0) {
      places_[port.id.value] = {host.get(), port.number};
      addresses_[host->ports()[port.number - 1U].address.ipv4_be()] = port.id;
    }
  host->lanes().takes_again = [this, id] {
    for (const fabric::ManagedPort& port : agents_.node(id)->ports)
      if (port.number != 0) engine_.resume(port.id);
  };
}

// On the first adapter, as people begin; where there is none, on the first switch.
void EmulatedFabric::start_manager() {
  const NodeIndex first = topology_.first_adapter().value_or(NodeIndex(0));
  const fabric::ManagedNode* const node = agents_.node(wiring_.nodes[first.value]);
  const fabric::ManagedPort& port = node->endport(1);
  manager_ = std::make_unique<EmbeddedManager>(agents_, port.id, subnet::Guid(port.guids[0].value),
                                               options_.manager);
  agents_.set_sm(port.id, true);
  manager_->start(engine_.now());
}

Expected<void, std::string> EmulatedFabric::listen(const std::string& folder) {
  for (const auto& host : hosts_) {
    if (host == nullptr) continue;
    const auto done = host->listen(control::host_socket(folder, {options_.name, host->name()}));
    if (!done) return Unexpected{host->name() + ": " + control::make_error(done.error()).text};
  }
  return {};
}

void EmulatedFabric::take_leave() {
  for (const auto& host : hosts_)
    if (host != nullptr) host->take_leave();
}

std::size_t EmulatedFabric::clients() const {
  std::size_t sum = 0;
  for (const auto& host : hosts_)
    if (host != nullptr) sum += host->clients();
  return sum;
}

EmulatedFabric::Place EmulatedFabric::place_of(fabric::PortId port) const {
  const auto it = places_.find(port.value);
  return it == places_.end() ? Place{} : it->second;
}

wire::Gid EmulatedFabric::owner_of(const wire::Gid& address, const fabric::ManagedPort& near) const {
  if (!address.is_ipv4()) return address;
  const auto it = addresses_.find(address.ipv4_be());
  const fabric::ManagedPort* const port = it != addresses_.end() ? agents_.port(it->second) : nullptr;
  if (port != nullptr) return mad::gid_of(port->info.gid_prefix, port->guids[0]);
  const auto other = cables_.owner_of(__builtin_bswap32(address.ipv4_be()));
  return other ? mad::gid_of(near.info.gid_prefix, *other) : wire::Gid{};
}

// ---- cables and their faults

std::optional<std::size_t> EmulatedFabric::cable_at(fabric::PortAddress port) const {
  const std::vector<std::size_t> cables = cables_of(port.node);
  const fabric::EnginePort* const end = engine_.port(wiring_.nodes[port.node.value], port.port);
  const auto found = std::ranges::find_if(cables, [&](std::size_t cable) {
    return end != nullptr && engine_.link(wiring_.links[cable]) == end->link;
  });
  return found == cables.end() ? std::nullopt : std::optional(*found);
}

std::vector<std::size_t> EmulatedFabric::cables_of(fabric::NodeIndex node) const {
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < wiring_.links.size(); ++i) {
    const auto& ends = engine_.link(wiring_.links[i])->ends;
    const fabric::NodeId id = wiring_.nodes[node.value];
    if (ends[0]->node == id || ends[1]->node == id) found.push_back(i);
  }
  return found;
}

bool EmulatedFabric::set_connected(std::size_t cable, bool connected) {
  return cable < wiring_.links.size() && engine_.set_connected(wiring_.links[cable], connected);
}

bool EmulatedFabric::limit_rate(std::size_t cable, fabric::LinkRate most) {
  return cable < wiring_.links.size() &&
         agents_.limit_cable(engine_.link(wiring_.links[cable])->ends[0]->id, most);
}

bool EmulatedFabric::set_errors(std::size_t cable, double packet_errors) {
  return cable < wiring_.links.size() &&
         engine_.set_faults(wiring_.links[cable], {.packet_errors = packet_errors, .flow_control_errors = 0});
}

double EmulatedFabric::roll() { return std::uniform_real_distribution<double>()(random_); }

// ---- time

void EmulatedFabric::keep_time(TimePoint now) { engine_.advance(now); }

TimePoint EmulatedFabric::deadline() const {
  TimePoint due = std::min(engine_.next_deadline(), agents_.next_deadline());
  if (manager_ != nullptr) due = std::min(due, manager_->deadline());
  due = std::min(due, cables_.deadline());
  for (const auto& host : hosts_)
    if (host != nullptr) due = std::min(due, host->deadline());
  return with_room_.empty() ? due : engine_.now();
}

void EmulatedFabric::advance(TimePoint now) {
  load_.note(engine_, now);
  engine_.advance(now);
  if (agents_.next_deadline() <= now) agents_.advance(now);
  if (manager_ != nullptr && manager_->deadline() <= now) manager_->advance(now);
  move_packets();
  for (const auto& host : hosts_) {
    if (host == nullptr) continue;
    host->lanes().flush(now);
    if (host->deadline() <= now) host->advance(now);
  }
  cables_.advance(now);
}

// A port holds 16 KiB for each VL, a quarter of what a lane sends at once. The rest follows here, so that it
// reaches the other end in messages as large, and not in one for each quarter.
void EmulatedFabric::move_packets() {
  for (int round = 0; round < kRounds; ++round) {
    for (EmulatedHost* const host : std::exchange(with_room_, {})) host->lanes().resume();
    const TimePoint now = monotonic_now();
    engine_.advance(now);
    const TimePoint next = engine_.next_deadline();
    const bool is_cut_short = next <= now;  // by packets that circle; others want their turn
    if (is_cut_short || (with_room_.empty() && next > now + kSoon)) return;
  }
}

// ---- what the fabric hands over

bool EmulatedFabric::on_datagram(fabric::PortId endport, const fabric::Datagram& datagram) {
  const bool may_be_managers = manager_ != nullptr && manager_->endport() == endport;
  if (may_be_managers && manager_->receive(datagram, engine_.now())) return true;
  const Place place = place_of(endport);
  if (place.host == nullptr) return false;
  const fabric::ManagedPort* const port = agents_.port(endport);
  place.host->receive_mad(place.number, queue_of(datagram), peer_of(*port, datagram), datagram.mad);
  return true;
}

void EmulatedFabric::on_event(fabric::PortId endport, fabric::PortEvent event) {
  const Place place = place_of(endport);
  if (place.host == nullptr) return;
  if (event == fabric::PortEvent::client_reregister) return place.host->reregister(place.number);
  place.host->port_changed(place.number);
}

void EmulatedFabric::on_trained(fabric::PortId port, const fabric::TrainedLink& link) {
  const fabric::EnginePort* const end = engine_.port(port);
  if (end == nullptr || end->link == nullptr) return;
  for (const fabric::LinkId id : wiring_.links)
    if (engine_.link(id) == end->link) engine_.set_rate(id, options_.pace.of(trained_rate(link)));
}

bool EmulatedFabric::on_packet(fabric::PortId port, const fabric::Packet& packet) {
  const Place place = place_of(port);
  if (place.host == nullptr) return true;
  return place.host->lanes().deliver(place.number, packet.bytes(), packet.destination, engine_.now());
}

void EmulatedFabric::on_room(fabric::PortId port) {
  const Place place = place_of(port);
  const bool known = std::find(with_room_.begin(), with_room_.end(), place.host) != with_room_.end();
  if (place.host != nullptr && !known) with_room_.push_back(place.host);
}

// The members of a group at the sender's own port get it, too (IBTA 10.5.2.3); no switch sends it back.
void EmulatedFabric::loop_back(fabric::PortId port, Bytes frame) {
  const auto lrh = wire::decode_link_header(frame.first<wire::kLrhBytes>());
  if (!lrh.dlid.is_multicast()) return;
  const Place place = place_of(port);
  if (place.host != nullptr)
    place.host->lanes().deliver(place.number, frame, Qpn(Qpn::kMulticast), engine_.now());
}

}  // namespace softrnic::fabricd
