// What the C surface asks of the engine.
#pragma once

#include <memory>
#include <vector>

#include "base/expected.h"
#include "base/reason.h"
#include "device/device_info.h"
#include "rnic/context.h"

namespace softrnic::abi {

/// The devices there are now, those that SOFTRNIC_DEVICE hides left out.
Expected<std::vector<device::DeviceInfo>, Failure> list_devices();

/// Opens the device with this index. The engine keeps what the context knows of the device up to date until
/// the last reference is gone.
Expected<std::shared_ptr<rnic::Context>, Failure> open_adapter(std::uint32_t device_index);

/// `callback` learns of the daemon's end, see engine::Adapter.
void on_daemon_end(void (*callback)());
void on_daemon_return(void (*callback)());

/// Registers handlers that hold a lock of this layer across fork(). They lock before the engine locks its
/// own.
void hold_across_fork(void (*lock)(), void (*unlock)());

}  // namespace softrnic::abi
