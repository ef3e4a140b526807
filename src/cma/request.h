// What a peer's request says, REQ or SIDR_REQ: whether a listener may take it, and what its new id takes from
// it.
#pragma once

#include <cstdint>
#include <optional>

#include "base/reason.h"
#include "cm/event.h"
#include "cma/device_table.h"
#include "cma/host.h"
#include "cma/id.h"
#include "cma/ip_header.h"

namespace softrnic::cma {

inline bool is_datagram(const cm::Event& request) {
  return request.kind == cm::EventKind::service_id_request;
}
inline std::uint16_t port_of(const cm::Event& request) {
  return static_cast<std::uint16_t>(request.service_id.value);
}
/// Nothing when no addresses lead its private data, as in requests for AF_IB.
inline std::optional<IpHeader> header_of(const cm::Event& request) {
  return IpHeader::read(request.private_data);
}

/// What the peer is told. Of REQs `reason` counts, of SIDR_REQs `status`.
struct Refusal {
  cm::RejectReason reason{};
  cm::SidrStatus status{};
  std::optional<Reason> explanation{};  ///< for this host's user, where there is more to say
};
/// Nothing: `listener`, which hears it, may take it.
std::optional<Refusal> refusal_of(const cm::Event& request, const Id& listener, const DeviceTable& devices,
                                  const Host& host);

/// Gives the id of a request what the request and its listener say. `binding` is the device it came to.
void take_over(Id& id, const Id& listener, const cm::Event& request, const Binding& binding);

/// CONNECT_REQUEST.
Event request_event(const Id& id, const cm::Event& request);

}  // namespace softrnic::cma
