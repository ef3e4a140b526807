#include "rnic/address_handle.h"

#include <cerrno>

#include "base/reason_id.h"
#include "base/reason_words.h"
#include "device/lid.h"
#include "rnic/context.h"
#include "rnic/limits.h"
#include "rnic/protection_domain.h"
#include "rnic/refusal.h"

namespace softrnic::rnic {
namespace {

constexpr std::uint16_t kFirstSourcePort = 0xc000;
constexpr std::uint32_t kFlowLabelMask = 0xfffff;
constexpr std::uint8_t kUsualHopLimit = 64;

wire::Gid to_gid(const ibv_gid& raw) {
  wire::Gid gid;
  for (std::size_t i = 0; i < gid.raw.size(); ++i) gid.raw[i] = std::byte{raw.raw[i]};
  return gid;
}

Unexpected<Failure> invalid(ReasonId id, std::uint64_t a = 0, std::uint64_t b = 0, std::uint64_t c = 0) {
  return Unexpected{refuse(EINVAL, id, a, b, c)};
}

// Programs leave hop_limit 0 or 1, as InfiniBand subnets do not route; the kernel puts the route's in its
// place.
std::uint8_t hop_limit(const ibv_global_route& grh, const wire::Gid& destination) {
  if (grh.hop_limit > 1) return grh.hop_limit;
  return destination.is_multicast() ? 1 : kUsualHopLimit;
}

Expected<ib::AddressVector, Failure> resolve_lid(const device::DeviceInfo& device,
                                                 const ibv_ah_attr& attributes) {
  const auto route = device::route_of_lid(device.port, attributes.dlid);
  if (!route) return invalid(ReasonId::ah_needs_grh);  // IBTA A17.4.1
  ib::AddressVector v;
  v.source = device.port.gids[route->source_gid_index].gid;
  v.destination = route->destination;
  v.source_gid_index = route->source_gid_index;
  v.hop_limit = kUsualHopLimit;
  v.service_level = attributes.sl;
  return v;
}

Expected<ib::AddressVector, Failure> resolve_gid(const device::DeviceInfo& device,
                                                 const ibv_ah_attr& attributes) {
  const ibv_global_route& grh = attributes.grh;
  const auto& gids = device.port.gids;
  if (grh.sgid_index >= gids.size()) return invalid(ReasonId::bad_gid_index, grh.sgid_index, gids.size());
  ib::AddressVector v;
  v.source = gids[grh.sgid_index].gid;
  v.destination = to_gid(grh.dgid);
  if (v.source.is_zero()) return invalid(ReasonId::empty_gid_index, grh.sgid_index);
  if (v.destination.is_zero()) return invalid(ReasonId::bad_dgid);
  const bool group = v.destination.is_multicast();
  if (!group && device::gids_are_addresses(device.kind) && v.source.is_ipv4() != v.destination.is_ipv4()) {
    return invalid(ReasonId::gid_family, grh.sgid_index, v.destination.high_half(), v.destination.low_half());
  }
  v.source_gid_index = grh.sgid_index;
  v.traffic_class = grh.traffic_class;
  v.hop_limit = hop_limit(grh, v.destination);
  v.service_level = attributes.sl;
  v.flow_label = grh.flow_label & kFlowLabelMask;
  if (v.flow_label != 0) v.source_port = source_port(v.flow_label, Qpn(), Qpn());
  return v;
}

// A port has 2^LMC LIDs, told apart by the path bits (IBTA 4.1.3).
std::uint8_t path_bits(const device::InfinibandPort& port, const ibv_ah_attr& attributes) {
  return attributes.src_path_bits & static_cast<std::uint8_t>((1U << port.lmc) - 1);
}

Expected<ib::AddressVector, Failure> resolve_without_grh(const device::InfinibandPort& port,
                                                         const ibv_ah_attr& attributes) {
  const wire::Lid dlid(attributes.dlid);
  if (dlid.is_multicast()) return invalid(ReasonId::ah_group_needs_grh, dlid.value);
  ib::AddressVector v;
  v.source =
      wire::Gid::of_lid(wire::Lid(static_cast<std::uint16_t>(port.lid.value | path_bits(port, attributes))));
  v.destination = wire::Gid::of_lid(dlid);
  v.service_level = attributes.sl;
  return v;
}

Expected<ib::AddressVector, Failure> resolve_infiniband(const device::DeviceInfo& device,
                                                        const ibv_ah_attr& attributes) {
  const wire::Lid dlid(attributes.dlid);
  if (!dlid.is_unicast() && !dlid.is_multicast()) return invalid(ReasonId::ah_bad_lid, dlid.value);
  const device::InfinibandPort& port = device.port.infiniband;
  auto v =
      attributes.is_global != 0 ? resolve_gid(device, attributes) : resolve_without_grh(port, attributes);
  if (!v) return v;
  if (attributes.is_global != 0) v->hop_limit = attributes.grh.hop_limit;
  v->dlid = dlid;
  v->source_path_bits = path_bits(port, attributes);
  v->interface_index = device.interface_index;
  return v;
}

}  // namespace

Expected<ib::AddressVector, Failure> resolve_address(const Context& context, const ibv_ah_attr& attributes) {
  if (attributes.port_num != limits::kPorts) return invalid(ReasonId::bad_port, attributes.port_num);
  const auto device = context.info();
  if (device::has_lids(device->kind)) return resolve_infiniband(*device, attributes);
  return attributes.is_global == 0 ? resolve_lid(*device, attributes) : resolve_gid(*device, attributes);
}

std::uint16_t source_port(std::uint32_t flow_label, Qpn local, Qpn remote) {
  if (flow_label != 0) return ibv_flow_label_to_udp_sport(flow_label);
  const std::uint32_t mixed = (local.value * 0x9e3779b1U) ^ (remote.value * 0x85ebca6bU);
  const std::uint32_t offset = (std::uint32_t{local.lane()} << 4) | (mixed >> 28);
  return static_cast<std::uint16_t>(kFirstSourcePort | offset);
}

Expected<std::unique_ptr<AddressHandle>, Failure> AddressHandle::create(ProtectionDomain& domain,
                                                                        const ibv_ah_attr& attributes) {
  Context& device = domain.context();
  if (device.has_streams()) return refused(EOPNOTSUPP, ReasonId::iwarp_no_object, ObjectKind::ah);
  if (device.counts.ahs.users() >= limits::kMaxAhs) {
    return refused(ENOMEM, ReasonId::too_many_objects, limits::kMaxAhs, ObjectKind::ah);
  }
  auto vector = resolve_address(device, attributes);
  if (!vector) return refused(vector.error());
  std::unique_ptr<AddressHandle> handle(new AddressHandle(domain));
  handle->vector_ = *vector;
  domain.uses.add();
  device.counts.ahs.add();
  return handle;
}

void AddressHandle::destroy() {
  domain_.uses.release();
  domain_.context().counts.ahs.release();
}

}  // namespace softrnic::rnic
