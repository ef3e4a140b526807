// Port spaces: how ports and service IDs belong together (IBTA annex A11).
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "cma/address.h"

namespace softrnic::cma {

/// enum rdma_port_space; also the bits 31:16 of a service ID.
enum class PortSpace : std::uint16_t { tcp = 0x0106, udp = 0x0111, ib = 0x013f };
inline constexpr std::array kPortSpaces = {PortSpace::tcp, PortSpace::udp, PortSpace::ib};

/// Nothing for a port space that is not supported (RDMA_PS_IPOIB needs an InfiniBand fabric).
std::optional<PortSpace> port_space_of(std::uint16_t number);

/// The port space an id binds in: its own for IP addresses; AF_IB addresses say it in their service ID (an id
/// of RDMA_PS_IB may use each of the three). Nothing when they do not agree.
std::optional<PortSpace> binding_space(PortSpace of_id, const SocketAddress& address);

/// The service ID of a port.
std::uint64_t service_id_of(PortSpace space, std::uint16_t port);
/// The service ID of an IP address's port, or the one in an AF_IB address.
std::uint64_t service_id_of(PortSpace space, const SocketAddress& address);

/// A service ID of this annex in its parts; nothing for one of another making.
struct Service {
  PortSpace space{};
  std::uint16_t port = 0;
};
std::optional<Service> service_of(std::uint64_t service_id);

}  // namespace softrnic::cma
