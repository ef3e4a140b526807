// How a REQ says its transport service: in two fields (IBTA 12.7.7, and XRC).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "cm/messages.h"
#include "cm/types.h"

namespace softrnic::cm {

struct ServiceCode {
  Service service;
  std::uint8_t transport;
  std::uint8_t extended;
};
/// In the order of Service.
inline constexpr ServiceCode kServiceCodes[] = {{Service::rc, kTransportRc, 0},
                                                {Service::uc, kTransportUc, 0},
                                                {Service::rd, kTransportRd, 0},
                                                {Service::xrc, kTransportExtended, kExtendedXrc}};

inline const ServiceCode& code_of(Service service) {
  return kServiceCodes[static_cast<std::size_t>(service)];
}

/// Nothing for a service that does not exist.
inline std::optional<Service> service_of(const Req& req) {
  for (const ServiceCode& code : kServiceCodes) {
    if (code.transport == req.transport_service &&
        (code.transport != kTransportExtended || code.extended == req.extended_transport)) {
      return code.service;
    }
  }
  return std::nullopt;
}

}  // namespace softrnic::cm
