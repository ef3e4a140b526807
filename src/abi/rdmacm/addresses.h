// Socket addresses of the three families of librdmacm, and what ids do with them.
#pragma once

#include <sys/socket.h>

#include <cstddef>
#include <cstdint>

#include "abi/rdmacm/id.h"
#include "base/expected.h"
#include "base/reason.h"

namespace softrnic::rdmacm {

/// Bytes of an address of AF_INET, AF_INET6 or AF_IB; 0 for other families.
std::size_t address_length(int family);

/// A copy of `address`; EINVAL when it is NULL or of another family.
Expected<sockaddr_storage, Failure> checked_address(const sockaddr* address);

/// The port in network order: of AF_IB the low 16 bits of the service ID. 0 for other families.
std::uint16_t port_of(const sockaddr_storage& address);

Expected<void, Failure> bind(Id& id, const sockaddr* address);
/// `source` may be NULL.
Expected<void, Failure> resolve_address(Id& id, const sockaddr* source, const sockaddr* destination,
                                        int timeout_ms);
Expected<void, Failure> resolve_route(Id& id, int timeout_ms);
Expected<void, Failure> set_option(Id& id, int level, int option, const void* value, std::size_t length);

}  // namespace softrnic::rdmacm
