// What comes to the subnet manager: answers, traps, and other managers' questions.
#include "mad/notice.h"
#include "subnet/manager.h"

namespace softrnic::subnet {
namespace {

bool is_subnet_management(mad::ManagementClass management_class) {
  return management_class == mad::ManagementClass::subnet_lid_routed ||
         management_class == mad::ManagementClass::subnet_directed_route;
}

/// Traps after which the subnet may be another than it was.
bool wants_sweep(const mad::Notice& notice) {
  if (!notice.is_generic) return false;
  const auto trap = static_cast<mad::Trap>(notice.trap_number);
  return trap == mad::Trap::link_state_changed || trap == mad::Trap::local_changes ||
         trap == mad::Trap::system_image_guid_changed;
}

}  // namespace

void Manager::receive(const DatagramAddress& from, const mad::Mad& mad, TimePoint now) {
  const auto header = mad::parse_header(mad);
  if (!header) return;
  const bool is_general = from.qpn != kSmiQpn;
  if (is_subnet_management(header->management_class) && !is_general)
    receive_smp(from, mad::decode<mad::Smp>(mad), now);
  // C15-0.1.3: only the master's administrator answers, and only once its subnet is up.
  const bool is_for_sa = header->management_class == mad::ManagementClass::subnet_administration;
  if (is_for_sa && is_general && is_up_) administrator_.receive(from, mad, own_info(false), now);
  advance(now);
}

void Manager::receive_smp(const DatagramAddress& from, const mad::Smp& smp, TimePoint now) {
  switch (smp.method) {
    case mad::Method::get_response:
      requests_.receive(smp);
      return;
    case mad::Method::get:
    case mad::Method::set:
      if (smp.attribute == mad::SmInfo::kAttribute) answer_sm_info(from, smp, now);
      return;
    case mad::Method::trap:
      if (smp.attribute == mad::Notice::kAttribute && state_ == mad::SmState::master)
        take_trap(from, smp, now);
      return;
    default:
      return;
  }
}

void Manager::take_trap(const DatagramAddress& from, const mad::Smp& smp, TimePoint now) {
  // From our own node it comes before that has a LID.
  DatagramAddress source = from;
  if (source.lid.is_reserved()) source.lid = database_.self_lid();
  if (!source.lid.is_unicast()) return;
  const NodePort port = database_.port_of(source.lid);
  mad::Smp repress = smp;
  repress.m_key =
      port.node == kNoNode ? options_.ports.m_key : m_key_for(database_.subnet, port, options_.ports.m_key);
  respond(source, repress, mad::Method::trap_repress, 0);

  auto notice = mad::decode<mad::Notice>(smp.data);
  if (!traps_.admit(source.lid, notice.trap_number, now)) return;
  events_.notify(event::TrapReceived{notice});
  heavy_wanted_ |= wants_sweep(notice);
  if (!is_up_ || port.node == kNoNode) return;
  const Guid guid = database_.subnet.at(database_.subnet.management_port(port)).guid;
  notice.issuer_gid = mad::gid_of(options_.ports.subnet_prefix, guid);
  administrator_.report(notice, now);
}

void Manager::respond(const DatagramAddress& to, mad::Smp smp, mad::Method method, std::uint16_t status) {
  smp.method = method;
  smp.status = status;
  smp.returning = smp.is_directed();
  port_.send(to, mad::encoded(smp));
}

}  // namespace softrnic::subnet
