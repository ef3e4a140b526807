// From a destination address to a device, a GID and a path. While an id is in the state address_query or
// route_query, and only then, the host has its question.
#pragma once

#include <optional>

#include "base/expected.h"
#include "base/reason.h"
#include "base/time.h"
#include "cma/bound_ports.h"
#include "cma/device_table.h"
#include "cma/host.h"
#include "cma/id_events.h"

namespace softrnic::cma {

class Resolution {
 public:
  /// All outlive this object.
  Resolution(Host& host, const DeviceTable& devices, BoundPorts& ports, IdEvents& events)
      : host_(host), devices_(devices), ports_(ports), events_(events) {}

  /// Binds the id to `source` unless it is bound, and asks the host for the route: ADDR_RESOLVED or
  /// ADDR_ERROR tells the answer.
  Expected<void, Failure> resolve_address(Id& id, const SocketAddress& source,
                                          const SocketAddress& destination, Duration timeout);
  /// The host's answer.
  void answered(Id& id, const RouteAnswer& answer);
  /// The id ends, or its device has gone.
  void cancel(const Id& id);
  /// On RoCE the path follows from the address. On InfiniBand the host asks the subnet administrator:
  /// ROUTE_RESOLVED or ROUTE_ERROR tells the answer.
  Expected<void, Failure> resolve_route(Id& id, Duration timeout);
  /// The host's answer.
  void path_found(Id& id, const PathAnswer& answer);
  /// RDMA_OPTION_IB_PATH, in place of resolve_route().
  Expected<void, Failure> take_path(Id& id, Bytes records);

 private:
  void ask(Id& id, Duration timeout);
  void resolve_loopback(Id& id);
  bool names_port(Id& id) const;
  std::optional<Binding> device_at(const Id& id, const Route& route) const;
  void address_known(Id& id);
  void address_failed(Id& id, const Failure& failure);
  Expected<void, Failure> stream_known(Id& id);
  void route_known(Id& id, const cm::Path& path, std::uint8_t packet_life_time);
  void route_failed(Id& id, const Failure& failure);

  Host& host_;
  const DeviceTable& devices_;
  BoundPorts& ports_;
  IdEvents& events_;
};

}  // namespace softrnic::cma
