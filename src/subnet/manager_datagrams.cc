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
  if (is_subnet_management(header->management_class) && from.qpn == kSmiQpn)
    receive_smp(from, mad::decode<mad::Smp>(mad), now);
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

  const auto notice = mad::decode<mad::Notice>(smp.data);
  if (!traps_.admit(source.lid, notice.trap_number, now)) return;
  events_.notify(event::TrapReceived{notice});
  heavy_wanted_ |= wants_sweep(notice);
}

void Manager::respond(const DatagramAddress& to, mad::Smp smp, mad::Method method, std::uint16_t status) {
  smp.method = method;
  smp.status = status;
  smp.returning = smp.is_directed();
  port_.send(to, mad::encoded(smp));
}

}  // namespace softrnic::subnet
