#include "fabricd/embedded_manager.h"

#include "fabricd/datagrams.h"
#include "mad/mad.h"

namespace softrnic::fabricd {
namespace {

bool is_subnet_class(mad::ManagementClass management_class) {
  return management_class == mad::ManagementClass::subnet_lid_routed ||
         management_class == mad::ManagementClass::subnet_directed_route;
}

bool is_response(const mad::Header& header) { return (static_cast<unsigned>(header.method) & 0x80) != 0; }

/// Agents of programs have their number in the upper half of the transaction ID (mad/agents.h); the manager
/// has none.
bool answers_a_program(const mad::Header& header) { return header.transaction >> 32 != 0; }

}  // namespace

EmbeddedManager::EmbeddedManager(fabric::NodeAgents& agents, fabric::PortId endport, subnet::Guid port_guid,
                                 subnet::ManagerOptions options)
    : agents_(agents), endport_(endport), manager_(*this, *this, port_guid, std::move(options)) {}

bool EmbeddedManager::receive(const fabric::Datagram& datagram, TimePoint now) {
  const auto header = mad::parse_header(datagram.mad);
  if (!header) return false;
  const bool is_ours = is_subnet_class(header->management_class) ||
                       header->management_class == mad::ManagementClass::subnet_administration;
  if (!is_ours || (is_response(*header) && answers_a_program(*header))) return false;
  manager_.receive(address_of(datagram), datagram.mad, now);
  return true;
}

void EmbeddedManager::send(const subnet::DatagramAddress& to, const mad::Mad& mad) {
  fabric::Datagram datagram = datagram_to(to, mad);
  const fabric::ManagedPort* const port = agents_.port(endport_);
  if (port != nullptr && datagram.destination != fabric::kSmiQpn)
    datagram.p_key = port->p_keys[port->p_key_index_of(datagram.p_key)];
  agents_.send(endport_, datagram);
}

void EmbeddedManager::notify(const subnet::Event& event) {
  if (log_.size() == kLog) log_.pop_front();
  log_.push_back(subnet::to_string(event));
}

}  // namespace softrnic::fabricd
