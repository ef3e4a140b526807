#include "daemon/gid_table.h"

#include <algorithm>

namespace softrnic::daemon {
namespace {

/// 0 link-local IPv6 (or ::1, which takes its part on loopback), 1 IPv4, 2 other IPv6.
int order(const wire::Gid& gid) {
  wire::Gid loopback;
  loopback.raw[15] = std::byte{1};
  if (gid.is_link_local() || gid == loopback) return 0;
  return gid.is_ipv4() ? 1 : 2;
}

std::vector<net::Address> sorted(std::vector<net::Address> addresses) {
  std::erase_if(addresses, [](const net::Address& address) { return address.gid.is_zero(); });
  std::stable_sort(addresses.begin(), addresses.end(), [](const net::Address& a, const net::Address& b) {
    return std::pair(order(a.gid), a.secondary) < std::pair(order(b.gid), b.secondary);
  });
  return addresses;
}

}  // namespace

bool GidTable::holds_ipv4() const {
  return std::any_of(places_.begin(), places_.end(), [](const Place& p) { return p.entry.gid.is_ipv4(); });
}

GidTable::Place* GidTable::place_for(const wire::Gid& gid) {
  const auto is_free = [](const Place& p) { return p.entry.gid.is_zero(); };
  // the last free place waits for an IPv4 address: most programs look for that one
  const auto free_places = std::count_if(places_.begin(), places_.end(), is_free);
  if (free_places == 0 || (free_places == 1 && !gid.is_ipv4() && !holds_ipv4())) return nullptr;
  for (Place& place : places_)
    if (is_free(place) && place.last == gid) return &place;
  for (Place& place : places_)
    if (is_free(place) && place.last.is_zero()) return &place;
  return &*std::find_if(places_.begin(), places_.end(), is_free);
}

void GidTable::insert(const net::Address& address) {
  const wire::Gid& gid = address.gid;
  for (const Place& place : places_)
    if (place.entry.gid == gid) return;
  if (Place* place = place_for(gid)) {
    place->entry = {gid, address.interface_index};
    place->last = gid;
  }
}

void GidTable::update(const std::vector<net::Address>& addresses) {
  for (Place& place : places_) {
    const auto same = [&place](const net::Address& a) { return a.gid == place.entry.gid; };
    const auto it = std::find_if(addresses.begin(), addresses.end(), same);
    if (it == addresses.end()) {
      place.entry = {};
    } else {
      place.entry.interface_index = it->interface_index;
    }
  }
  for (const net::Address& address : sorted(addresses)) insert(address);
}

std::vector<device::GidEntry> GidTable::without_bound(const std::vector<net::Address>& addresses) {
  std::vector<device::GidEntry> out;
  for (const net::Address& address : sorted(addresses)) out.push_back({address.gid, address.interface_index});
  return out;
}

std::vector<device::GidEntry> GidTable::entries() const {
  std::vector<device::GidEntry> out;
  for (const Place& place : places_) out.push_back(place.entry);
  return out;
}

}  // namespace softrnic::daemon
