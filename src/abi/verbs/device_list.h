// The devices as struct ibv_device.
#pragma once

#include <cstdint>

#include "abi/verbs/objects.h"
#include "device/device_info.h"

namespace softrnic::abi {

/// The structure of a device, made at its first appearance. It lives as long as the process: programs keep
/// pointers after ibv_free_device_list, and some pass the list to free().
Device& device_of(const device::DeviceInfo& info);

}  // namespace softrnic::abi
