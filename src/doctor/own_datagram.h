// Whether a datagram to an address of this host arrives on UDP port 4791, through whatever filters there are.
#pragma once

#include "control/client.h"
#include "device/device_info.h"
#include "doctor/facts.h"

namespace softrnic::doctor {

/// Sends one to the address of the GID and waits for it in the lane, whose socket nobody else reads.
AddressFacts send_to_own_address(const control::LaneGrant& lane, const device::GidEntry& gid);

}  // namespace softrnic::doctor
