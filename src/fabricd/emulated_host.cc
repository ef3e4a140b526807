#include "fabricd/emulated_host.h"

#include <sys/epoll.h>

#include <algorithm>
#include <cerrno>

#include "base/clock.h"
#include "base/reason_id.h"

namespace softrnic::fabricd {
namespace {

std::vector<PortIdentity> identities(const std::vector<wire::Gid>& addresses) {
  std::vector<PortIdentity> ports;
  for (const wire::Gid& address : addresses) {
    const auto number = static_cast<std::uint32_t>(ports.size());
    ports.push_back({"soft" + std::to_string(number), number + 1, address, 0});
  }
  return ports;
}

}  // namespace

EmulatedHost::EmulatedHost(daemon::EventLoop& loop, HostFabric& fabric, std::string name,
                           std::vector<wire::Gid> addresses)
    : loop_(loop),
      fabric_(fabric),
      name_(std::move(name)),
      ports_(identities(addresses)),
      lanes_(loop, fabric),
      service_(lanes_, daemon::DeviceList(name_), {}, this),
      connections_(
          service_.cm(), sa_, [this](const wire::Gid& address) { return own_port(address); },
          [this](std::uint8_t port) { return ports_[port - 1U].address; },
          [this](const wire::Gid& address) { return AddressOwner{fabric_.owner_of(address)}; }) {
  sa_.send = [this](std::uint8_t port, const mad::Mad& mad) { ask_administrator(port, mad); };
  service_.cm().send_mad = [this](const mad::Address& to, Bytes mad) { send_by_address(to, mad); };
  for (std::uint8_t number = 1; number <= ports_.size(); ++number) port_changed(number);
  service_.clients = [this] { return clients(); };
  service_.look_at_network = [this] {
    for (std::uint8_t number = 1; number <= ports_.size(); ++number) port_changed(number);
    return net::NetSnapshot{};
  };
}

Expected<void, Failure> EmulatedHost::listen(const std::string& path) {
  auto listener = control::PathListener::open(path);
  if (!listener) return Unexpected{listener.error()};
  listener_ = std::move(*listener);
  clients_ = std::make_unique<daemon::Clients>(loop_, listener_.fd(), service_, std::nullopt);
  service_.announce = [this](const daemon::DeviceChange& change) { clients_->announce(change); };
  if (!clients_->begin()) return Unexpected{refuse(errno, ReasonId::fabric_folder, errno)};
  watch_descriptors();
  return {};
}

void EmulatedHost::watch_descriptors() {
  daemon::MadService& mads = service_.mads();
  if (mads.sockets_fd() >= 0) loop_.watch(mads.sockets_fd(), EPOLLIN, [&mads] { mads.sockets_ready(); });
}

void EmulatedHost::take_leave() {
  if (clients_) clients_->take_leave();
}

void EmulatedHost::port_changed(std::uint8_t number) {
  const fabric::ManagedPort* const port = fabric_.node().port(number);
  if (port == nullptr || number > ports_.size()) return;
  const auto change = service_.device_list().put(device_of(fabric_.node(), *port, ports_[number - 1U]));
  if (!change) return;
  service_.devices_changed();
  service_.announce(*change);
}

void EmulatedHost::reregister(std::uint8_t number) {
  if (number == 0 || number > ports_.size()) return;
  ++ports_[number - 1U].reregistrations;
  port_changed(number);
}

bool EmulatedHost::receive_mad(std::uint8_t port, mad::Queue queue, const mad::Peer& from, Bytes mad) {
  const auto header = mad::parse_header(mad);
  if (queue == mad::Queue::gsi && sa_.receive(mad)) return true;
  if (queue == mad::Queue::gsi && header && header->management_class == mad::ManagementClass::communication) {
    service_.cm().receive(address_of(port, from), mad);
    return true;
  }
  return service_.mads().receive({ports_.front().device, port}, queue, from, mad, false);
}

TimePoint EmulatedHost::deadline() const {
  const TimePoint clients = clients_ ? clients_->deadline() : kNever;
  return std::min(
      {clients, lanes_.deadline(), service_.cm().deadline(), service_.mads().deadline(), sa_.deadline()});
}

void EmulatedHost::advance(TimePoint now) {
  if (clients_) clients_->advance(now);
  lanes_.advance(now);
  sa_.advance(now);
  if (service_.cm().deadline() <= now) service_.cm().advance();
  if (service_.mads().deadline() <= now) service_.mads().advance();
}

// ---- QP1 of the connection manager

std::uint8_t EmulatedHost::own_port(const wire::Gid& address) const {
  const wire::Gid gid = address.is_ipv4() ? fabric_.owner_of(address) : address;
  for (const fabric::ManagedPort& port : fabric_.node().ports)
    for (const mad::Guid guid : port.guids)
      if (port.number != 0 && guid.value != 0 && mad::gid_of(port.info.gid_prefix, guid) == gid)
        return port.number;
  return 0;
}

void EmulatedHost::ask_administrator(std::uint8_t number, const mad::Mad& mad) {
  const fabric::ManagedPort* const port = fabric_.node().port(number);
  if (port == nullptr) return;
  mad::Peer manager;
  manager.lid = port->info.master_sm_lid.value;
  manager.sl = port->info.master_sm_sl;
  fabric_.send_mad(number, mad::Queue::gsi, manager, mad);
}

void EmulatedHost::send_by_address(const mad::Address& to, Bytes mad) {
  const auto number = static_cast<std::uint8_t>(to.interface_index);
  const fabric::ManagedPort* const port = fabric_.node().port(number);
  if (port == nullptr) return;
  mad::Peer peer;
  peer.qpn = to.remote_qpn;
  peer.qkey = to.qkey;
  peer.lid = to.remote_lid.value;
  peer.sl = to.sl;
  peer.path_bits = static_cast<std::uint8_t>(to.local_lid.value & ((1U << port->info.lmc) - 1));
  peer.has_grh = !to.remote.is_lid();
  peer.hop_limit = to.hop_limit;
  peer.traffic_class = to.traffic_class;
  peer.flow_label = to.flow_label;
  peer.gid = to.remote;
  for (std::size_t i = 0; i < port->guids.size(); ++i)
    if (mad::gid_of(port->info.gid_prefix, port->guids[i]) == to.local)
      peer.gid_index = static_cast<std::uint8_t>(i);
  for (std::size_t i = port->p_keys.size(); i-- > 0;)
    if (port->p_keys[i] == to.pkey) peer.pkey_index = static_cast<std::uint16_t>(i);
  fabric_.send_mad(number, mad::Queue::gsi, peer, mad);
}

mad::Address EmulatedHost::address_of(std::uint8_t number, const mad::Peer& peer) const {
  const fabric::ManagedPort& port = *fabric_.node().port(number);
  mad::Address from;
  from.interface_index = number;
  from.remote_qpn = peer.qpn;
  from.pkey = port.p_keys[peer.pkey_index];
  from.qkey = peer.qkey;
  from.local_lid = wire::Lid(static_cast<std::uint16_t>(port.info.lid.value | peer.path_bits));
  from.remote_lid = wire::Lid(peer.lid);
  from.sl = peer.sl;
  from.local = wire::Gid::of_lid(from.local_lid);
  from.remote = wire::Gid::of_lid(from.remote_lid);
  if (!peer.has_grh) return from;
  from.local = mad::gid_of(port.info.gid_prefix, port.guids[peer.gid_index]);
  from.remote = peer.gid;
  from.hop_limit = peer.hop_limit;
  from.traffic_class = peer.traffic_class;
  from.flow_label = peer.flow_label;
  return from;
}

// ---- QP0 and QP1 of programs

std::vector<control::MadCa> EmulatedHost::cas() const {
  return {ca_of(fabric_.node(), ports_.front().device)};
}

// On InfiniBand the LID alone leads somewhere; what else programs leave out is zero there, too.
Expected<mad::Peer, Failure> EmulatedHost::complete(const daemon::MadPortName& name,
                                                    const mad::Peer& to) const {
  const fabric::ManagedPort* const port = fabric_.node().port(static_cast<std::uint8_t>(name.port));
  const bool known = port != nullptr && to.pkey_index < port->p_keys.size() &&
                     (!to.has_grh || to.gid_index < port->guids.size());
  if (known) return to;
  return Unexpected{refuse(EINVAL, ReasonId::mad_no_way, to.gid.high_half(), to.gid.low_half(), to.gid_index,
                           to.pkey_index)};
}

void EmulatedHost::send(const daemon::MadPortName& port, mad::Queue queue, const mad::Peer& to, Bytes mad) {
  fabric_.send_mad(static_cast<std::uint8_t>(port.port), queue, to, mad);
}

void EmulatedHost::set_is_sm(const daemon::MadPortName& port, bool is_sm) {
  fabric_.set_is_sm(static_cast<std::uint8_t>(port.port), is_sm);
}

}  // namespace softrnic::fabricd
