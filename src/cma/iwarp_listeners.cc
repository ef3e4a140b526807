#include "cma/iwarp_listeners.h"

#include <algorithm>
#include <cerrno>

namespace softrnic::cma {
namespace {

bool hears(const Id& id, const wire::Gid& address) {
  const bool ipv4 = id.source.family == Family::ipv4;
  return address.is_ipv4() == ipv4 || (!ipv4 && !id.binds_family_only());
}

iwcm::Endpoint endpoint(const wire::Gid& host, const Id& id, std::uint32_t interface_index) {
  return {host, id.source.port, host.is_link_local() ? interface_index : 0};
}

void add_once(std::vector<iwcm::Endpoint>& all, const iwcm::Endpoint& one) {
  if (std::find(all.begin(), all.end(), one) == all.end()) all.push_back(one);
}

}  // namespace

std::vector<iwcm::Endpoint> endpoints_of(const Id& id, const DeviceTable& devices) {
  std::vector<iwcm::Endpoint> all;
  const DeviceChoice choice = id.devices.without_packets();
  if (id.is_ib_addressed() || !devices.any(choice)) return all;
  if (!id.source.is_any()) {
    // a loopback address that no device has means any device
    if (!id.binding || id.binding.has_streams())
      all.push_back(endpoint(id.source.host, id, id.binding.interface_index));
    return all;
  }
  for (const device::DeviceInfo& device : devices.all()) {
    if (!choice.allows(device)) continue;
    for (const device::GidEntry& entry : addresses_of(device))
      if (!entry.gid.is_zero() && hears(id, entry.gid))
        add_once(all, endpoint(entry.gid, id, device.interface_index));
  }
  for (const Family family : {Family::ipv4, Family::ipv6})
    if (const wire::Gid own = SocketAddress::loopback(family).host; hears(id, own))
      add_once(all, endpoint(own, id, 0));
  return all;
}

bool IwarpListeners::is_passing(int error) { return error == EADDRNOTAVAIL || error == ENODEV; }

wire::MpaDemands IwarpListeners::demands_at(const iwcm::Endpoint& at, const Id& id) const {
  const auto binding = devices_.reached_by(at.host, at.interface_index, id.devices.without_packets());
  return binding ? devices_.demands_of(*binding) : wire::MpaDemands{};
}

Expected<void, Failure> IwarpListeners::add(const Id& id, const iwcm::Endpoint& at) {
  const auto listener = streams_.listen({at, id.wanted_backlog, id.tos, id.user, demands_at(at, id)});
  if (!listener) return Unexpected{listener.error()};
  places_[id.number].push_back({at, *listener});
  ids_.emplace(*listener, id.number);
  return {};
}

void IwarpListeners::remove(const Place& place) {
  ids_.erase(place.listener);
  streams_.unlisten(place.listener);
}

Expected<void, Failure> IwarpListeners::listen(const Id& id) {
  Expected<void, Failure> last;
  for (const iwcm::Endpoint& at : endpoints_of(id, devices_)) {
    auto added = add(id, at);
    if (added) continue;
    if (!is_passing(added.error().error)) {
      unlisten(id.number);
      return added;
    }
    last = added;
  }
  return places_.contains(id.number) ? Expected<void, Failure>{} : last;
}

void IwarpListeners::unlisten(IdNumber id) {
  const auto places = places_.extract(id);
  if (places.empty()) return;
  for (const Place& place : places.mapped()) remove(place);
}

Expected<void, Failure> IwarpListeners::renew(const Id& id) {
  const std::vector<iwcm::Endpoint> wanted = endpoints_of(id, devices_);
  std::vector<Place>& places = places_[id.number];
  const auto is_wanted = [&](const Place& place) {
    return std::find(wanted.begin(), wanted.end(), place.at) != wanted.end();
  };
  for (const Place& place : places)
    if (!is_wanted(place)) remove(place);
  std::erase_if(places, [&](const Place& place) { return !is_wanted(place); });
  Expected<void, Failure> all;
  for (const iwcm::Endpoint& at : wanted) {
    const auto has = std::any_of(places.begin(), places.end(), [&](const Place& p) { return p.at == at; });
    if (has) continue;
    if (auto added = add(id, at); !added) all = added;
  }
  return all;
}

bool IwarpListeners::listens_at(const iwcm::Endpoint& at) const {
  return std::ranges::any_of(places_, [&](const auto& of_id) {
    return std::ranges::any_of(of_id.second, [&](const Place& place) { return place.at == at; });
  });
}

IdNumber IwarpListeners::id_of(iwcm::ListenerId listener) const {
  const auto found = ids_.find(listener);
  return found == ids_.end() ? 0 : found->second;
}

}  // namespace softrnic::cma
