// At which addresses the listeners of iWARP devices hear requests. As with Linux's siw, a listener at the
// wildcard listens at each address of its devices: so it takes the TCP port of no other.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "base/expected.h"
#include "base/reason.h"
#include "cma/device_table.h"
#include "cma/id.h"
#include "iwcm/manager.h"

namespace softrnic::cma {

/// Where `id` listens by TCP.
std::vector<iwcm::Endpoint> endpoints_of(const Id& id, const DeviceTable& devices);

class IwarpListeners {
 public:
  /// All outlive this object.
  IwarpListeners(iwcm::Manager& streams, const DeviceTable& devices) : streams_(streams), devices_(devices) {}

  /// At all of its addresses, or none: who listened at some alone would leave the others to any local
  /// program. One that is about to go or to come is left out, where it is not the only one.
  Expected<void, Failure> listen(const Id& id);
  /// An error of an address that is about to go, or to come (IPv6's duplicate address detection).
  static bool is_passing(int error);
  void unlisten(IdNumber id);
  /// Addresses have come or gone. Fails where it cannot listen at one that is new; at the others it does.
  Expected<void, Failure> renew(const Id& id);
  /// There exactly, and not by the wildcard.
  bool listens_at(const iwcm::Endpoint& at) const;
  /// 0: nobody's.
  IdNumber id_of(iwcm::ListenerId listener) const;

 private:
  struct Place {
    iwcm::Endpoint at;
    iwcm::ListenerId listener;
  };
  wire::MpaDemands demands_at(const iwcm::Endpoint& at, const Id& id) const;
  Expected<void, Failure> add(const Id& id, const iwcm::Endpoint& at);
  void remove(const Place& place);

  iwcm::Manager& streams_;
  const DeviceTable& devices_;
  std::map<IdNumber, std::vector<Place>> places_;
  std::map<iwcm::ListenerId, IdNumber> ids_;
};

}  // namespace softrnic::cma
