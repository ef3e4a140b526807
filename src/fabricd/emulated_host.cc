#include "fabricd/emulated_host.h"

#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/clock.h"
#include "control/fabric_folder.h"

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
      service_(lanes_, daemon::DeviceList(name_), {}, this) {
  for (std::uint8_t number = 1; number <= ports_.size(); ++number) port_changed(number);
  service_.clients = [this] { return clients(); };
  service_.look_at_network = [this] {
    for (std::uint8_t number = 1; number <= ports_.size(); ++number) port_changed(number);
    return net::NetSnapshot{};
  };
}

EmulatedHost::~EmulatedHost() {
  if (clients_) unlink(path_.c_str());
}

Expected<void, Failure> EmulatedHost::listen(const std::string& path) {
  auto listener = control::listen_at(path);
  if (!listener) return Unexpected{listener.error()};
  path_ = path;
  listener_ = std::move(*listener);
  clients_ = std::make_unique<daemon::Clients>(loop_, listener_.get(), service_, std::nullopt);
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
  return service_.mads().receive({ports_.front().device, port}, queue, from, mad, false);
}

TimePoint EmulatedHost::deadline() const {
  const TimePoint clients = clients_ ? clients_->deadline() : kNever;
  return std::min({clients, lanes_.deadline(), service_.cm().deadline(), service_.mads().deadline()});
}

void EmulatedHost::advance(TimePoint now) {
  if (clients_) clients_->advance(now);
  lanes_.advance(now);
  if (service_.cm().deadline() <= now) service_.cm().advance();
  if (service_.mads().deadline() <= now) service_.mads().advance();
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
