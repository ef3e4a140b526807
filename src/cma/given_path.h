// RDMA_OPTION_IB_PATH: the program brings the route itself, from a path record of its own (ibacm, or
// rdma_addrinfo).
#pragma once

#include <cstdint>

#include "base/bytes.h"
#include "base/expected.h"
#include "base/reason.h"
#include "cma/id.h"
#include "device/device_info.h"

namespace softrnic::cma {

struct GivenPath {
  cm::Path path;
  std::uint8_t packet_life_time = 0;  ///< 5-bit code
};
/// The path of `id` with what its record among `records` (struct ibv_path_data) says. EINVAL: there is none,
/// it is of another pair of ports, or asks for what they cannot do.
Expected<GivenPath, Failure> given_path(const Id& id, const device::DeviceInfo& device, Bytes records);

}  // namespace softrnic::cma
